#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --replicas N: a grant or a renewal counts only once N replicas have it. Then a failover to one of
# them, and an old master that goes on answering, let no second holder in.
# shellcheck disable=SC2154,SC2016  # *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite ticker cli leases replicas

teardown() {
  local pid
  for pid in "${SET_PIDS[@]}"; do kill -CONT "$pid" 2>/dev/null || true; done
  clean_up
}

# A frozen replica is still connected, so WAIT on a connection without writes would count it.
@test "F04: fewer replicas than wanted: 69 with the numbers, nothing runs, and no key is left" {
  start_set 2
  run -0 --separate-stderr "$DLOCK" run --replicas 2 whole -- touch "$T/ran"
  assert_no_stderr
  [ -e "$T/ran" ]
  freeze 2
  run -69 --separate-stderr "$DLOCK" run -n --ttl 10s --replicas 2 part -- touch "$MARKER"
  assert_stderr_has "cannot acquire \"part\": only 1 of 2 replicas of $DLOCK_URL"
  assert_stderr_has "--replicas (0: wait for none)"
  assert_not_started
  run -69 --separate-stderr "$DLOCK" acquire -n --ttl 10s --replicas 2 part
  [ -z "$output" ]
  run -0 "$DLOCK" run -n --replicas 1 part -- true
  run -0 "$DLOCK" run -n part -- true
  thaw 2
  eventually 10s no_lock_at part 0 1 2
}

@test "F04: a claim waits for a replica that comes back in time, and then runs" {
  start_set 1
  freeze 1
  dlock_run a -v --ttl 4s --connect-timeout 30s --replicas 1 late -- touch "$MARKER"
  eventually 10s grep -q 'only 0 of 1 replicas' "$T/a.err"
  assert_not_started
  thaw 1
  ends 20s a "exit 0"
  [ -e "$MARKER" ]
}

@test "F04: a replica that is away for a while during a hold: the command's code" {
  start_set 1
  dlock_run a -v --ttl 6s -k 200ms --replicas 1 back -- "$TICKER" "$TICKS" until "$T/go" code 6
  eventually 10s ticking
  freeze 1
  eventually 10s grep -q 'only 0 of 1 replicas' "$T/a.err"
  thaw 1
  eventually 10s grep -q 'renewed "back"' "$T/a.err"
  touch "$T/go"
  ends 10s a "exit 6"
}

@test "F04: a replica that stays away during a hold: 79, stopped before the lease ends" {
  start_set 1
  hold_deaf away --replicas 1 -k 200ms
  local at
  freeze 1
  at=$(boot_ms)
  dead_before_the_end_of_the_lease "$at"
  grep -q 'only 0 of 1 replicas' "$T/a.err"
}

@test "F03: an old master that goes on answering renews nothing: stopped before the rival begins" {
  start_set 1
  hold_deaf split --replicas 1 -k 200ms
  local at
  on 1 replicaof no one # the old master lives, and takes writes for good
  at=$(boot_ms)
  DLOCK_URL=redis+unix://$T/1.sock dlock_run b split -- "$TICKER" "$T/ticks-b" for 20
  ends 20s b "exit 0"
  dead_before_the_end_of_the_lease "$at"
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-b")" ]
}

@test "F03: without --replicas it does renew there, and two run: not promised" {
  start_set 1
  hold_deaf split -k 200ms
  on 1 replicaof no one
  DLOCK_URL=redis+unix://$T/1.sock dlock_run b split -- "$TICKER" "$T/ticks-b" for 20
  ends 20s b "exit 0"
  [ ! -s "$T/a.end" ]
  [ "$(last_tick)" -ge "$(first_tick "$T/ticks-b")" ]
}

@test "a server without WAIT, or a user without the right: 69 or 77 naming WAIT, never started" {
  start_other unnamed --rename-command WAIT ''
  DLOCK_URL=$OTHER_URL run -69 --separate-stderr "$DLOCK" run --replicas 1 x -- touch "$MARKER"
  assert_one_line
  [[ $stderr == *"unknown command "[\'\`]"WAIT"* ]] || fail "$stderr" # quoted as Redis 6.2 does, too
  assert_stderr_has "--replicas needs WAIT, --replicas 0 does not"
  assert_not_started
  DLOCK_URL=$OTHER_URL run -0 "$DLOCK" run --replicas 0 x -- true
  start_other denied
  o acl setuser default -wait
  DLOCK_URL=$OTHER_URL run -77 --separate-stderr "$DLOCK" run --replicas 1 x -- touch "$MARKER"
  assert_stderr_has "'wait'"
  assert_stderr_has "--replicas needs WAIT, --replicas 0 does not"
  assert_not_started
  [ "$(o exists dlock:x)" = 0 ]
}

@test "steps: acquire and renew count with their replicas, and release needs none" {
  start_set 1
  eval "$("$DLOCK" acquire --ttl 20s --replicas 1 steps)"
  "$DLOCK" renew --ttl 20s --replicas 1 steps
  freeze 1
  run -69 --separate-stderr "$DLOCK" renew --connect-timeout 500ms --ttl 20s --replicas 1 steps
  assert_stderr_has 'cannot renew "steps": only 0 of 1 replicas'
  run -0 "$DLOCK" release steps
  [ "$(on 0 exists dlock:steps)" = 0 ]
}

@test "a store without replicas refuses --replicas, and takes --replicas 0" {
  local url=local://$BATS_TEST_TMPDIR
  run -64 --separate-stderr "$DLOCK" --url "$url" run --replicas 1 x -- touch "$MARKER"
  assert_stderr_has "does not support --replicas"
  assert_not_started
  run -0 "$DLOCK" --url "$url" run --replicas 0 x -- true
  run -64 --separate-stderr "$DLOCK" run --replicas -1 x -- true
  assert_stderr_has "a number of replicas from 0 to 100"
}
