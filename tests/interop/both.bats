#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock and the locks of other libraries keep each other out, and pass a lock on to each
# other, whoever holds, waits or crashes.
# clients: redisson-4.7.0 redisson-3.27.2 node-redisson redlock5 redlock4 redis-py redsync
# others: their locks are not in Redis; shedlock.bats, etcd.bats and zookeeper.bats are for these
# shellcheck disable=SC2154,SC2016,SC2034  # *_pid are set by spawn; inner shells; evals

load ../support/suite
suite supervise
load interop

@test "they hold: dlock is refused or waits, and gets in after their release" {
  asked acquired x lock "$K" 60000
  dlock_is_refused
  dlock_waits
  run ! entered
  asked released x unlock "$K"
  ends 20s b "exit 0"
  not_before "$(cat "$T/b.began")" "$(time_of x unlock "$K")"
  assert_free "$N"
}

@test "dlock holds: they are refused or wait, and get in after its command has ended" {
  dlock_holds --ttl 60s
  local before
  before=$(r hgetall "$K")
  asked refused x try "$K" 200 30000
  tell y lock "$K" 30000
  comes_to_wait y
  sleep 0.5
  [ "$(r hgetall "$K")" = "$before" ]
  run ! said y lock "$K"
  let_go
  ends 20s a "exit 0"
  says 20s y lock "$K" acquired
  not_before "$(time_of y lock "$K")" "$(cat "$T/a.ended")"
  dlock_is_refused
  asked released y unlock "$K"
  [ "$(r exists "$K")" = 0 ]
}

@test "a frozen lock keeps them out: a free one at once, a held one after its release" {
  local began
  began=$(micros)
  "$DLOCK" freeze --for 2s "$N"
  asked refused x try "$K" 200 30000
  tell y lock "$K" 30000
  says 20s y lock "$K" acquired # by itself
  not_before "$(time_of y lock "$K")" $((began + 2000000))
  asked released y unlock "$K"
  dlock_holds
  "$DLOCK" freeze --for 1h "$N"
  asked refused x try "$K" 200 30000
  let_go
  ends 20s a "exit 0"
  asked refused x try "$K" 200 30000
  "$DLOCK" unfreeze "$N"
  asked acquired x lock "$K" 30000
  asked released x unlock "$K"
}

@test "they crash: dlock gets in when their lease ends, and not before" {
  another_client
  asked acquired x lock "$K" 3000
  local end
  end=$(lease_end)
  dlock_waits
  crash_driver "$CLIENT"
  # One waits, and others try now and then: none of them before.
  until entered || "$DLOCK" run -q -n "$N" -- sh -c 'date +%s%6N >$0/c.began' "$T"; do sleep 0.1; done
  ends 20s b "exit 0"
  not_before "$(cat "$T/b.began")" "$end"
  [ ! -e "$T/c.began" ] || not_before "$(cat "$T/c.began")" "$end"
  eventually 20s is_free "$N"
}

@test "dlock crashes: its command is gone, they get in when its lease ends, not before" {
  dlock_holds --ttl 8s
  tell x lock "$K" 30000
  local command end
  command=$(pgrep -P "$a_pid" -x sh)
  kill -KILL "$a_pid"
  eventually 8s gone "$command"
  end=$(lease_end)
  run ! said x lock "$K"
  says 20s x lock "$K" acquired
  not_before "$(time_of x lock "$K")" "$end"
  asked released x unlock "$K"
}

@test "dlock's renewals keep them out for longer than its lease" {
  dlock_holds --ttl 6s -k 500ms
  local before
  before=$(lease_end)
  asked refused x try "$K" 7000 1000
  [ "$(lease_end)" -gt "$before" ]
  let_go
  ends 20s a "exit 0"
  asked acquired x lock "$K" 30000
  asked released x unlock "$K"
}

@test "two of theirs and two dlocks, over and over: one at a time, all get in" {
  echo 0 >"$T/number"
  local i
  for i in 1 2; do
    tell "x$i" add "$K" "$T/number" 8
    spawn "shell$i" bash -c '
      for i in $(seq 8); do
        "$DLOCK" run "$1" -- sh -c "n=\$(cat $0); sleep 0.002; echo \$((n + 1)) >$0" "$0" || exit 1
      done' "$T/number" "$N"
  done
  for i in 1 2; do
    ends 60s "shell$i" "exit 0"
    says 120s "x$i" add "$K" "done" # node-redisson may miss the last release, and sleep for 30 s
  done
  [ "$(cat "$T/number")" = 32 ]
  [ "$(r exists "$K")" = 0 ]
}

@test "a release of theirs that comes too late does not take dlock's lock" {
  asked acquired x lock "$K" 1000
  dlock_holds --ttl 10s
  local before answer
  before=$(r hgetall "$K")
  answer=$(ask x unlock "$K")
  [[ $answer == error* ]]
  [ "$(r hgetall "$K")" = "$before" ]
  asked refused y try "$K" 100 1000
  let_go
  ends 20s a "exit 0"
}

@test "force-release leaves their lock; with --now it is gone, and who waits gets in" {
  asked acquired x lock "$K" 60000
  dlock_waits
  run "$DLOCK" force-release --yes "$N"
  [ "$status" != 0 ]
  [ "$(r exists "$K")" = 1 ]
  "$DLOCK" force-release --yes --now "$N"
  ends 20s b "exit 0"
  local answer
  answer=$(ask x unlock "$K")
  [[ $answer == error* ]]
  assert_free "$N"
}

@test "without a prefix the name is theirs as it stands" {
  K=plain-$N
  NAME=$K
  asked acquired x lock "$K" 60000
  dlock_is_refused --prefix ''
  dlock_waits --prefix ''
  asked released x unlock "$K"
  ends 20s b "exit 0"
  dlock_holds --prefix '' --ttl 60s
  tell y lock "$K" 30000
  comes_to_wait y
  let_go
  ends 20s a "exit 0"
  says 20s y lock "$K" acquired
  not_before "$(time_of y lock "$K")" "$(cat "$T/a.ended")"
  asked released y unlock "$K"
}

@test "names with braces" {
  NAME="a{$N}c"
  K=dlock:$NAME
  asked acquired x lock "$K" 60000
  dlock_waits
  asked released x unlock "$K"
  ends 20s b "exit 0"
  dlock_holds --ttl 10s # node-redisson listens to another channel here, and sleeps to the end of it
  tell y lock "$K" 30000
  comes_to_wait y
  let_go
  ends 20s a "exit 0"
  says 30s y lock "$K" acquired
  not_before "$(time_of y lock "$K")" "$(cat "$T/a.ended")"
  asked released y unlock "$K"
}
