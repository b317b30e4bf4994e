#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: every reader of a pair has its own lease, whichever side it is on: nobody's renewal or
# release shortens it, it is renewed for as long as it runs, and a dead one keeps a writer out until
# its own lease ends, and no longer.
# clients: redisson-4.7.0 redisson-3.27.2
# others: only Redisson for Java has read and write locks in Redis
# shellcheck disable=SC2154,SC2016,SC2034,SC2030,SC2031  # *_pid are set by spawn; inner shells; evals

load ../support/suite
suite supervise
load interop
load pair

passed() { [ "$(micros)" -gt "$1" ]; }

# --- crashes -----------------------------------------------------------------------------------

# java_reader_dies LEASE…: it holds for so many ms each; END is when the last one ends.
java_reader_dies() {
  local lease
  another_client
  for lease; do asked acquired x lock.read "$K" "$lease"; done
  END=$(read_end "$(ask x owner "$K")" $#)
  crash_driver "$CLIENT"
  first_client
}
# dlock_reader_dies [BUT]: one that holds for 4 s; BUT is the owner that reads as well.
dlock_reader_dies() {
  local owner
  dlock_run d -s --ttl 4s -k 200ms "$N" -- sh -c 'echo $$ >$0/command; exec sleep 60' "$T"
  eventually 20s test -s "$T/command"
  owner=$(reader "${1:-}")
  kill -KILL "$d_pid"
  END=$(read_end "$owner")
  eventually 8s gone "$(cat "$T/command")"
}

@test "Java's reader dies, one of dlock's comes and goes: dlock's writer comes at its end" {
  java_reader_dies 3000
  takes dlock-s
  waits dlock-x
  gives dlock-s
  gets_in dlock-x
  not_before "$(in_at dlock-x)" "$END"
  assert_free "$N"
}

@test "dlock's reader dies, one of Java's comes and goes: Java's writer comes at its end" {
  dlock_reader_dies
  takes java-read
  gives java-read
  asked acquired y try.write "$K" 20000 30000
  not_before "$(time_of y try.write "$K")" "$END"
  asked released y unlock.write "$K"
  [ -z "$(layout)" ]
}

@test "a reader dies, another comes and goes while Java's writer waits: in at the end" {
  dlock_reader_dies
  takes dlock-s
  waits java-write
  gives dlock-s
  gets_in java-write
  not_before "$(in_at java-write)" "$END"
  goes java-write
}

@test "a reader dies, another reads on: that one's release lets the writer in" {
  local kind
  for kind in java-write dlock-x; do
    on "$kind-$N"
    if [ "$kind" = java-write ]; then java_reader_dies 3000; else dlock_reader_dies; fi
    takes dlock-s
    waits "$kind"
    eventually 20s passed "$END"
    are in java-read
    waits_still "$kind"
    gives dlock-s
    gets_in "$kind"
    not_before "$(in_at "$kind")" "$(given_at dlock-s)"
    goes "$kind"
    [ -z "$(layout)" ]
  done
}

@test "a reader that died holding twice is out as a whole" {
  java_reader_dies 3000 4000
  takes dlock-s
  waits dlock-x
  gives dlock-s
  gets_in dlock-x
  not_before "$(in_at dlock-x)" "$END"
  assert_free "$N"
}

@test "a writer of either side dies: the readers of the other come when its lease ends" {
  local java dlock
  local name=$N
  on "dlock-$name"
  dlock_holds -x --ttl 5s -k 200ms
  waits java-read
  kill -KILL "$a_pid"
  dlock=$(lease_end)
  on "java-$name"
  another_client
  asked acquired x lock.write "$K" 3000
  java=$(lease_end)
  crash_driver "$CLIENT"
  first_client
  waits dlock-s
  gets_in dlock-s
  not_before "$(in_at dlock-s)" "$java"
  on "dlock-$name"
  gets_in java-read
  not_before "$(in_at java-read)" "$dlock"
  goes java-read
}

# --- renewals ----------------------------------------------------------------------------------

@test "dlock's short leases and renewals do not shorten that of one of Java's readers" {
  asked acquired x lock.read "$K" 60000
  local theirs mine owner end
  theirs=$(ask x owner "$K")
  end=$(read_end "$theirs")
  dlock_holds -s --ttl 6s -k 500ms
  owner=$(reader "$theirs")
  mine=$(read_end "$owner")
  eventually 20s eval '[ "$(read_end "$owner")" -gt $((mine + 2000000)) ]'
  [ "$(read_end "$theirs")" = "$end" ]
  [ "$(lease_end)" = "$end" ]
  gives dlock-s
  [ "$(lease_end)" = "$end" ]
  dlock_reader_dies "$theirs"
  [ "$END" -lt "$end" ]
  [ "$(lease_end)" = "$end" ]
  are out dlock-x java-write
  gives java-read
  waits dlock-x
  gets_in dlock-x
  not_before "$(in_at dlock-x)" "$END"
}

@test "Java's watchdog shortens the lock under a dlock reader, which keeps it all the same" {
  local theirs first
  dlock_holds -s --ttl 60s
  another_client
  asked acquired x lock.read "$K" 0
  theirs=$(ask x owner "$K")
  first=$(read_end "$theirs")
  eventually 20s eval '[ "$(read_end "$theirs")" -gt "$first" ]'
  crash_driver "$CLIENT"
  END=$(read_end "$theirs")
  first_client
  eventually 20s passed $((END + 1000000))
  are in java-read dlock-s
  are out java-write dlock-x
  gives dlock-s
  are in java-write dlock-x
}

@test "two nested reads of dlock beside one of Java's last longer than their lease" {
  dlock_nests 6 -s -s
  takes java-read
  asked refused y try.write "$K" 7500 30000
  gives java-read
  are out java-write dlock-x
  gives dlock-s
  are in java-write dlock-x
}

@test "a dlock writer whose inner read has ended lasts longer than its lease" {
  dlock_run a -x --ttl 6s -k 500ms "$N" -- sh -c '"$DLOCK" run -s --ttl 20s "$1" -- true; touch $0/once
    until [ -e $0/go ]; do sleep 0.02; done; date +%s%6N >$0/a.ended' "$T" "$N"
  eventually 20s test -e "$T/once"
  asked refused y try.read "$K" 7500 30000
  gives dlock-x
  are in java-read
}

@test "a reader of dlock's that was a writer lasts longer than its lease" {
  dlock_writes_and_reads 6
  dlock_downgrades
  asked refused y try.write "$K" 7500 30000
  are in java-read
  let_go
  eventually 20s is_free "$N"
  are in java-write
}
