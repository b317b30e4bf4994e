#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: while a name is frozen no new run gets it, on any store; present holders go on; the freeze
# ends by itself or by dlock unfreeze. The suites of the other stores call `freezes` as well.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells
load ../support/suite
suite server empty modes cli supervise ticker clock_shim leases clocks replicas quorum store_cases

@test "freeze, unfreeze: free and held locks, refusals, list and inspect" {
  freezes
}
@test "freeze, unfreeze: free and held locks, refusals, list and inspect, in a directory" {
  in_a_directory
  freezes
}

@test "freeze: a run that waits gets the lock when the freeze ends, or by unfreeze at once" {
  "$DLOCK" freeze --for 2s short
  "$DLOCK" freeze --for 1h long
  spawn a "$DLOCK" run short -- true
  spawn b "$DLOCK" run long -- true
  ends 20s a "exit 0"
  kill -0 "$b_pid"
  "$DLOCK" unfreeze long
  ends 5s b "exit 0"
}

@test "freeze: a run below the present holder passes through; its release keeps the freeze" {
  run -0 "$DLOCK" run a -- sh -c '"$DLOCK" freeze --for 1h a && "$DLOCK" run -n a -- touch "$MARKER"'
  [ -e "$MARKER" ]
  run -75 "$DLOCK" run -n a -- true
  [ "$(r hget 'dlock:holds:{dlock:a}' frozen | wc -l)" = 1 ]
  [ "$(r pttl dlock:a)" -gt 3000000 ]
}

@test "freeze: a holder that died leaves the lock frozen, also for others from the next claim on" {
  spawn dies "$DLOCK" run --ttl 2s a -- sleep 60
  eventually 10s "$DLOCK" inspect -q a
  "$DLOCK" freeze --for 1h a
  local command
  command=$(pgrep -P "$dies_pid" -x sleep)
  kill -KILL "$dies_pid"
  eventually 10s gone "$command"
  eventually 10s gone_key dlock:a
  run -0 "$DLOCK" inspect a
  assert_output --partial 'a: frozen by '
  run -0 "$DLOCK" inspect -q a
  run -75 "$DLOCK" run -n a -- touch "$MARKER"
  [ "$(r pttl dlock:a)" -gt 3000000 ]
  assert_not_started
}
gone_key() { [ "$(r exists "$1")" = 0 ]; }

@test "freeze: force-release stops the holder, and the lock stays frozen" {
  hold a
  "$DLOCK" freeze --for 1h a
  run -0 "$DLOCK" force-release -y a
  run -75 "$DLOCK" run -n a -- touch "$MARKER"
  hold b
  "$DLOCK" freeze --for 1h b
  run -0 "$DLOCK" force-release -y --now b
  run -75 "$DLOCK" run -n b -- touch "$MARKER"
  assert_not_started
}

@test "freeze: a table of the terminal has who, until when and why" {
  "$DLOCK" freeze --for 1h --reason upgrade a
  hold b
  "$DLOCK" freeze --for 1h --reason later b
  run -0 script -qec "$DLOCK list" /dev/null
  assert_line --regexp '^a +[^ ]+ +frozen +(59m[0-9.]*s?|1h) +upg'
  assert_line --regexp '^b +[^ ]+ +frozen .* sh; frozen'
}

@test "freeze without a time, with a bad one, or without a name is refused" {
  run -64 --separate-stderr "$DLOCK" freeze a
  assert_stderr_has "freeze needs --for"
  run -64 --separate-stderr "$DLOCK" freeze --for soon a
  assert_stderr_has "--for: "
  run -64 --separate-stderr "$DLOCK" freeze --for 0 a
  assert_stderr_has "is shorter than 1s"
  run -64 --separate-stderr "$DLOCK" freeze --for 1h
  run -64 --separate-stderr "$DLOCK" unfreeze
  [ "$(r dbsize)" = 0 ]
}

@test "freeze, unfreeze: an error about one name does not keep the others from it" {
  r set 'dlock:holds:{dlock:bad}' text
  "$DLOCK" freeze --for 1h bad good
  run -75 "$DLOCK" run -n good -- true
  run -75 "$DLOCK" run -n bad -- true
  run -1 "$DLOCK" unfreeze none good bad
  run -0 "$DLOCK" run -n good -- true
}

@test "freeze and unfreeze need a majority" {
  start_quorum 3
  freezes
  run -0 "$DLOCK" freeze --for 1h a
  kill_member 0
  run -75 --separate-stderr "$DLOCK" run -n a -- touch "$MARKER"
  assert_stderr_has ': frozen by '
  run -0 "$DLOCK" unfreeze a
  run -0 "$DLOCK" run a -- true
  kill_member 1
  run -69 "$DLOCK" --connect-timeout 1s freeze --for 1h a
  assert_not_started
}
