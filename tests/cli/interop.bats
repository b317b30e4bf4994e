#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# dlock shares locks with programs: Redisson's and dlock exclude and wake each other, the fencing
# token grows across both, and the locks of `SET NX` libraries are waited for.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells

load ../support/suite
suite server ticker supervise

redisson() { python3 "$PROGRAMS/redisson_holder.py" "$REDIS_SOCKET" "$@"; }
# java KEY [LEASE_MS]: a Redisson client in the background that takes KEY and obeys `tell`.
java() {
  : >"$T/java.words"
  spawn java bash -c 'tail -n +1 -f "$1" --pid=$$ | exec python3 "$2" "$3" "$4" hold "$5"' \
    - "$T/java.words" "$PROGRAMS/redisson_holder.py" "$REDIS_SOCKET" "$1" "${2:-60000}"
}
tell() { echo "$1" >>"$T/java.words"; }
java_says() { eventually 8s grep -q "$1" "$T/java.out"; }

waits_at() { [ "$(r pubsub numsub "$1" | tail -1)" -ge "${2:-1}" ]; }
plain_channel() { echo "redisson_lock__channel:{$1}"; }

@test "K19: dlock waits for a Redisson holder and is woken by its unlock, long before the lease ends" {
  java dlock:java
  java_says '^acquired 1'
  dlock_run a java -- sh -c "echo in"
  eventually 8s waits_at "$(plain_channel dlock:java)"
  [ ! -s "$T/a.out" ]
  tell unlock
  ends 8s a "exit 0"
  [ "$(cat "$T/a.out")" = in ]
  assert_free java
}

@test "a waiter says that the holder is Redisson" {
  java dlock:told
  java_says '^acquired 1'
  run -75 "$DLOCK" run -n told -- true
  [[ $output == *"$(r hkeys dlock:told)"* ]]
  [[ $output == *"not dlock"* ]]
}

@test "K19: a Redisson waiter is woken by dlock's release, with exactly the payload 0" {
  dlock_run a --ttl 60s wakes -- sh -c "until [ -e $T/go ]; do sleep 0.02; done"
  eventually 8s key_exists wakes
  java dlock:wakes
  java_says '^waiting'
  eventually 8s waits_at "$(plain_channel dlock:wakes)"
  touch "$T/go"
  ends 8s a "exit 0"
  java_says '^acquired 1'
  grep -q '^message 0 ' "$T/java.out"
  run ! grep '^lease-over' "$T/java.out"
  [ "$(grep -c '^message' "$T/java.out")" = 1 ]
}

@test "a Redisson holder that entered twice keeps dlock out until it left twice" {
  java dlock:twice
  java_says '^acquired 1'
  tell lock
  java_says '^locked 2'
  [ "$(hold_count twice)" = 2 ]
  dlock_run a twice -- sh -c "echo in"
  eventually 8s waits_at "$(plain_channel dlock:twice)"
  tell unlock
  java_says '^unlocked 1'
  run -75 "$DLOCK" run -n twice -- true
  [ ! -s "$T/a.out" ]
  tell unlock
  ends 8s a "exit 0"
}

@test "a nested dlock keeps a Redisson waiter out until the last hold is gone" {
  dlock_run a nested -- sh -c "$DLOCK run nested -- true; echo once >$T/once; until [ -e $T/go ]; do sleep 0.02; done"
  eventually 8s file_has "$T/once"
  run -75 redisson dlock:nested lock 1000 200
  [[ $output == *refused* ]]
  touch "$T/go"
  ends 8s a "exit 0"
  run -0 redisson dlock:nested lock 1000 200
}

@test "dlock takes over when a Redisson client died with its lock" {
  java dlock:died 1500
  java_says '^acquired 1'
  kill -KILL -"$java_pid"
  dlock_run a died -- true
  ends 8s a "exit 0"
}

@test "K19: many dlocks and Redisson clients: one at a time" {
  echo 0 >"$T/number"
  local i
  for i in 1 2; do
    spawn "java$i" python3 "$PROGRAMS/redisson_holder.py" "$REDIS_SOCKET" dlock:many add 30000 "$T/number" 15
    spawn "shell$i" bash -c '
      for i in $(seq 15); do
        "$DLOCK" run many -- sh -c "n=\$(cat $0); sleep 0.002; echo \$((n + 1)) >$0" "$0" || exit 1
      done' "$T/number"
  done
  for i in 1 2; do
    ends 30s "java$i" "exit 0"
    ends 30s "shell$i" "exit 0"
  done
  [ "$(cat "$T/number")" = 60 ]
  assert_free many
}

@test "the hash is Redisson's: one field of uuid and number, its count, and a lease" {
  dlock_run a --ttl 20s layout -- sh -c "until [ -e $T/go ]; do sleep 0.02; done"
  eventually 8s key_exists layout
  [ "$(r hlen dlock:layout)" = 1 ]
  r hkeys dlock:layout | grep -qE '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]+$'
  [ "$(r hvals dlock:layout)" = 1 ]
  [ "$(lock_ttl layout)" -gt 0 ]
  [ "$(lock_ttl layout)" -le 20000 ]
  touch "$T/go"
  ends 8s a "exit 0"
}

@test "K19: a SET NX lock is waited for and taken after its DEL; the waiter says its kind" {
  r set dlock:setnx their-token nx px 60000
  dlock_run a setnx -- sh -c "echo in"
  eventually 8s grep -q 'foreign lock' "$T/a.err"
  [ ! -s "$T/a.out" ]
  [ "$(r get dlock:setnx)" = their-token ]
  r del dlock:setnx
  ends 8s a "exit 0"
  assert_free setnx
}

@test "a SET NX lock is taken over when it expires" {
  r set dlock:setnx-expires their-token nx px 1500
  dlock_run a setnx-expires -- true
  ends 8s a "exit 0"
  assert_free setnx-expires
}

@test "SET NX is refused while dlock holds, and dlock's lock is as before" {
  dlock_run a refuses -- sh -c "until [ -e $T/go ]; do sleep 0.02; done"
  eventually 8s key_exists refuses
  local before
  before=$(r hgetall dlock:refuses)
  [ -z "$(r set dlock:refuses theirs nx px 1000)" ]
  [ "$(r hgetall dlock:refuses)" = "$before" ]
  touch "$T/go"
  ends 8s a "exit 0"
  [ "$(r set dlock:refuses theirs nx px 1000)" = OK ]
}

@test "a hash without a lease is waited for by message, and said to be without" {
  r hset dlock:eternal 11111111-2222-3333-4444-555555555555:1 1
  dlock_run a eternal -- sh -c "echo in"
  eventually 8s waits_at "$(plain_channel dlock:eternal)"
  eventually 8s grep -q 'without expiry' "$T/a.err"
  [ "$(lock_ttl eternal)" = -1 ]
  r del dlock:eternal
  r publish "$(plain_channel dlock:eternal)" 0
  ends 8s a "exit 0"
}

@test "other numbers on the channel disturb no holder and no waiter" {
  java dlock:noise
  java_says '^acquired 1'
  dlock_run a noise -- true
  eventually 8s waits_at "$(plain_channel dlock:noise)"
  r publish "$(plain_channel dlock:noise)" 1
  r publish "$(plain_channel dlock:noise)" 123456789
  r publish "$(plain_channel dlock:noise)" nonsense
  r publish "$(plain_channel dlock:noise)" ''
  alive "$a_pid"
  tell unlock
  ends 8s a "exit 0"
  [ ! -s "$T/a.err" ] || run ! grep -v 'waiting' "$T/a.err"
}

@test "names with braces: both sides use the same channel, without more braces" {
  java 'dlock:a{b}c'
  java_says '^acquired 1'
  dlock_run a 'a{b}c' -- sh -c "echo in"
  eventually 8s waits_at 'redisson_lock__channel:dlock:a{b}c'
  tell unlock
  ends 8s a "exit 0"
  [ "$(r exists 'redisson_lock_token:dlock:a{b}c')" = 1 ]
  # And the other way.
  dlock_run b --ttl 60s 'a{b}c' -- sh -c "until [ -e $T/go ]; do sleep 0.02; done"
  eventually 8s key_exists 'a{b}c'
  tell lock
  java_says '^waiting'
  touch "$T/go"
  ends 8s b "exit 0"
  java_says '^locked 1'
}

@test "an empty prefix: the lock of getLock(\"order-42\") is the lock of dlock run order-42" {
  java order-42
  java_says '^acquired 1'
  run -75 "$DLOCK" run --prefix '' -n order-42 -- true
  dlock_run a --prefix '' order-42 -- sh -c "echo in"
  eventually 8s waits_at 'redisson_lock__channel:{order-42}'
  tell unlock
  ends 8s a "exit 0"
}

@test "the fencing token grows across dlock and RFencedLock" {
  local first second third fourth
  first=$("$DLOCK" run fenced -- sh -c 'echo $DLOCK_TOKEN')
  second=$(redisson dlock:fenced fenced 1000)
  third=$(redisson dlock:fenced fenced 1000)
  fourth=$("$DLOCK" run fenced -- sh -c 'echo $DLOCK_TOKEN')
  [ "$second" = $((first + 1)) ]
  [ "$third" = $((first + 2)) ]
  [ "$fourth" -gt "$third" ]
  [ "$fourth" -lt 9007199254740992 ]
}

@test "a token key that Redisson made stays without expiry; one of dlock's lasts about a day" {
  redisson dlock:java-first fenced 1000
  [ "$(r pttl 'redisson_lock_token:{dlock:java-first}')" = -1 ]
  "$DLOCK" run java-first -- true
  [ "$(r pttl 'redisson_lock_token:{dlock:java-first}')" = -1 ]
  "$DLOCK" run dlock-first -- true
  [ "$(r pttl 'redisson_lock_token:{dlock:dlock-first}')" -gt 80000000 ]
  [ "$(r pttl 'redisson_lock_token:{dlock:dlock-first}')" -le 86400000 ]
}

@test "the token grows over the loss of all data and over an expired token key" {
  local first second third
  first=$("$DLOCK" run forgotten -- sh -c 'echo $DLOCK_TOKEN')
  r flushall
  second=$("$DLOCK" run forgotten -- sh -c 'echo $DLOCK_TOKEN')
  r del 'redisson_lock_token:{dlock:forgotten}'
  third=$("$DLOCK" run forgotten -- sh -c 'echo $DLOCK_TOKEN')
  [ "$first" -lt "$second" ]
  [ "$second" -lt "$third" ]
}

@test "a token ahead of the server's clock is continued, not set back" {
  r set 'redisson_lock_token:{dlock:ahead}' 9000000000000000
  [ "$("$DLOCK" run ahead -- sh -c 'echo $DLOCK_TOKEN')" = 9000000000000001 ]
}

@test "a nested run has its ancestor's token" {
  run -0 "$DLOCK" run same -- sh -c 'echo $DLOCK_TOKEN; $DLOCK run same -- sh -c "echo \$DLOCK_TOKEN"'
  [ "${lines[0]}" = "${lines[1]}" ]
}

@test "force-release of a Redisson holder is refused without --now, and wakes waiters with it" {
  java dlock:java-held
  java_says '^acquired 1'
  dlock_run a java-held -- sh -c "echo in"
  eventually 8s waits_at "$(plain_channel dlock:java-held)"
  run "$DLOCK" force-release --yes java-held
  [ "$status" -ne 0 ]
  [ "$(hold_count java-held)" = 1 ]
  run -0 "$DLOCK" force-release --yes --now java-held
  ends 8s a "exit 0"
}
