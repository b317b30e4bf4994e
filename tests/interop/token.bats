#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a lock that another library keeps as a string is waited for like any other; its clients
# take dlock's hash for a lock, and leave it as it is.
# clients: redlock5 redlock4 redis-py redsync
# others: their lock is a hash; rlock.bats has the same for these
# shellcheck disable=SC2154,SC2016,SC2034  # *_pid are set by spawn; inner shells; evals

load ../support/suite
suite supervise
load interop

@test "inspect calls it foreign, and says its type and lease; whoever waits is told" {
  asked acquired x lock "$K" 60000
  [ "$(inspected 'lock["state"]')" = foreign ]
  [ "$(inspected 'lock["type"]')" = string ]
  [ "$(inspected '0 < lock["lease_left_ms"] <= 60000')" = True ]
  dlock_waits
  eventually 20s grep -q 'foreign lock' "$T/b.err"
  asked released x unlock "$K"
  ends 20s b "exit 0"
}

@test "their extension keeps dlock out for longer than the first lease" {
  asked acquired x lock "$K" 10000
  local first
  first=$(lease_end)
  dlock_waits
  sleep 1
  asked extended x extend "$K" 10000
  [ "$(lease_end)" -gt "$first" ]
  eventually 20s eval '[ "$(micros)" -gt "$first" ]'
  run ! entered
  ends 20s b "exit 0"
  not_before "$(cat "$T/b.began")" "$first"
}

@test "with their own defaults they give up or wait, as documented; dlock's lock stays" {
  dlock_holds --ttl 30s
  local before
  before=$(r hgetall "$K")
  tell x default "$K" 5000
  case $INTEROP_CLIENT in
    redlock5) says 30s x default "$K" refused ExecutionError ;;
    redlock4) says 30s x default "$K" refused LockError ;;
    redsync) says 30s x default "$K" refused ;;
    redis-py)
      sleep 1
      run ! said x default "$K"
      ;;
  esac
  [ "$(r hgetall "$K")" = "$before" ]
  let_go
  ends 20s a "exit 0"
  [ "$INTEROP_CLIENT" != redis-py ] || says 20s x default "$K" acquired
}

@test "dlock in the place of their lock: neither their extension nor release touches it" {
  asked acquired x lock "$K" 1000
  dlock_holds --ttl 20s
  local before answer verb
  before=$(r hgetall "$K")
  for verb in extend unlock; do
    answer=$(ask x "$verb" "$K" 60000)
    [[ $answer == error* ]]
  done
  [ "$(r hgetall "$K")" = "$before" ]
  [ "$(lock_ttl "$N")" -le 20000 ]
  let_go
  ends 20s a "exit 0"
}
