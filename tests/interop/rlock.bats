#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: with clients that keep a lock as Redisson does, both sides count re-entries, renew, see
# who holds, and can take a lock away from each other.
# clients: redisson-4.7.0 redisson-3.27.2 node-redisson
# others: their lock is a string: no owner, no count, no watchdog, no channel
# shellcheck disable=SC2154,SC2016,SC2034  # *_pid are set by spawn; inner shells; evals

load ../support/suite
suite supervise
load interop

@test "who entered twice has to leave twice" {
  asked acquired x lock "$K" 60000
  asked acquired x lock "$K" 60000
  [ "$(inspected 'lock["owners"][0]["count"]')" = 2 ]
  dlock_waits
  asked released x unlock "$K"
  dlock_is_refused
  run ! entered
  asked released x unlock "$K"
  ends 20s b "exit 0"
  assert_free "$N"
}

@test "a nested dlock keeps them out until the last hold is gone" {
  dlock_run a --ttl 20s "$N" -- sh -c '"$DLOCK" run "$1" -- true; touch $0/once
    until [ -e $0/go ]; do sleep 0.02; done; date +%s%6N >$0/a.ended' "$T" "$N"
  eventually 20s test -e "$T/once"
  tell x lock "$K" 60000
  eventually 20s parked x
  run ! said x lock "$K"
  let_go
  ends 20s a "exit 0"
  says 20s x lock "$K" acquired
  not_before "$(time_of x lock "$K")" "$(cat "$T/a.ended")"
  asked released x unlock "$K"
}

@test "their watchdog keeps dlock out for longer than its lease, until they crash" {
  another_client
  asked acquired x lock "$K" 0
  local first end
  first=$(lease_end)
  dlock_waits
  eventually 30s eval '[ "$(micros)" -gt "$first" ]'
  run ! entered
  [ "$(lease_end)" -gt "$first" ]
  crash_driver "$CLIENT"
  end=$(lease_end)
  ends 30s b "exit 0"
  not_before "$(cat "$T/b.began")" "$end"
  assert_free "$N"
}

@test "their forced unlock of a dlock: it stops its command and exits with 79" {
  dlock_holds --ttl 10s
  asked true x force "$K"
  ends 20s a "exit 79"
  [ -s "$T/a.ended" ]
  asked acquired x lock "$K" 30000
  asked released x unlock "$K"
}

@test "force-release --now of their lock wakes another of theirs that waits" {
  asked acquired x lock "$K" 60000
  tell y lock "$K" 60000
  eventually 20s parked y
  "$DLOCK" force-release --yes --now "$N"
  says 20s y lock "$K" acquired
  asked released y unlock "$K"
  assert_free "$N"
}

@test "inspect shows their owner, count and lease; they see dlock's but cannot release it" {
  asked acquired x lock "$K" 60000
  [ "$(inspected 'lock["state"]')" = held ]
  [ "$(inspected 'lock["owners"][0]["id"]')" = "$(ask x owner "$K")" ]
  [ "$(inspected 'lock["owners"][0]["count"]')" = 1 ]
  [ "$(inspected '0 < lock["lease_left_ms"] <= 60000')" = True ]
  [ "$(inspected 'lock["holds"]')" = "[]" ]
  asked released x unlock "$K"
  asked false x locked "$K"
  dlock_holds
  asked true x locked "$K"
  local answer
  answer=$(ask x unlock "$K")
  [[ $answer == error* ]]
  [ "$(inspected 'len(lock["holds"])')" = 1 ]
  let_go
  ends 20s a "exit 0"
  asked false x locked "$K"
}

@test "the subscriptions of both sides break while they wait: both get in all the same" {
  dlock_holds --ttl 10s # as long as Java's sleeps at most if it hears nothing
  dlock_waits
  tell x lock "$K" 30000
  eventually 20s watched_by 2
  r client kill type pubsub
  let_go
  ends 20s a "exit 0"
  # Either may be the first, and Java's gives its lock back only when it is told.
  says 60s x lock "$K" acquired
  asked released x unlock "$K"
  ends 30s b "exit 0"
}

@test "nothing of theirs and nothing of dlock's is left behind" {
  asked acquired x lock "$K" 0
  dlock_waits
  asked released x unlock "$K"
  ends 20s b "exit 0"
  eventually 20s assert_no_keys
}
