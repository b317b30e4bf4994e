#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The holder's own clocks. What the wall clock shows decides nothing; a boot clock that jumps, as
# after a sleep, stops the command before anything else is done; one per cent of speed is allowed
# for; and where the whole machine stands still, only the fence is left.
# shellcheck disable=SC2154,SC2016  # *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite server ticker clock_shim leases clocks

teardown() {
  local pid
  for pid in ${FROZEN:-}; do kill -CONT "$pid" 2>/dev/null || true; done
  clean_up
}
guard_of() { eventually 10s pgrep -P "$1" -x lease-guard; }

@test "C05: the wall clock jumps to and fro, and to no time at all: no run is disturbed" {
  needs_dynamic_dlock
  local url
  for url in "$DLOCK_URL" "local://$T/locks"; do
    rm -f "$T/go" "$T/clock-mine"
    DLOCK_URL=$url with_clocks_of mine dlock dlock_run a --ttl 4s -k 200ms wall -- \
      sh -c 'touch "$0.in"; until [ -e "$0" ]; do sleep 0.02; done; exit 6' "$T/go"
    eventually 5s test -e "$T/go.in"
    for _ in 1 2 3; do # longer than a lease
      clock mine real 3600 -7200 0 1e9 -3.7e9 0 3.7e9 -1e9 0 86400 -86400 0 0 0 0 7200
    done
    [ ! -s "$T/a.end" ]
    touch "$T/go"
    ends 5s a "exit 6"
    [ ! -s "$T/a.err" ]
  done
  assert_free wall
  # That dlock is shown this clock at all: what it writes down for people is a year ahead.
  clock ahead real 31536000
  DLOCK_URL=$url with_clocks_of ahead dlock "$DLOCK" run wall -- "$DLOCK" inspect --json wall >"$T/shown"
  [ "$(sed -nE 's/.*"since_ms": ([0-9]+).*/\1/p' "$T/shown")" -gt $(($(date +%s%3N) + 30000000000)) ]
}

@test "C06: the machine sleeps through the lease: killed on waking, 79" {
  needs_dynamic_dlock
  with_clocks_of mine dlock hold_deaf asleep
  clock mine boot 6
  local at
  at=$(boot_ms)
  ends 5s a "exit 79"
  ticker_gone
  # Long before its time, by any other clock; the unit tests show what comes first.
  [ $(($(last_tick) - at)) -lt 2000 ]
  assert_free asleep
}

@test "C06: dlock itself does not wake up: its guard does" {
  needs_dynamic_dlock
  with_clocks_of mine dlock hold_deaf alone
  FROZEN=$a_pid
  kill -STOP "$a_pid"
  clock mine boot 6
  eventually 2s ticker_gone
  [ "$(r exists dlock:alone)" = 1 ]
  kill -CONT "$a_pid"
  ends 5s a "exit 79"
}

@test "C07: a clock that is one per cent slow: the command is dead before the lease ends" {
  needs_dynamic_dlock
  start_proxy
  DLOCK_URL=$PROXY_URL with_clocks_of mine dlock hold_deaf slow
  clock mine speed 0.99
  dlock_run b slow -- "$TICKER" "$T/ticks-b" for 20
  sleep 1.1 # a renewal by this clock
  proxy blackhole
  dead_before_the_end_of_the_lease "$(boot_ms)"
  ends 10s b "exit 0"
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-b")" ]
}

@test "C07: a clock that runs at half speed is outside the promise: two run" {
  needs_dynamic_dlock
  start_proxy
  DLOCK_URL=$PROXY_URL with_clocks_of mine dlock hold_deaf half
  clock mine speed 0.5
  dlock_run b half -- "$TICKER" "$T/ticks-b" for 20
  proxy blackhole
  ends 15s a "exit 79"
  ends 10s b "exit 0"
  [ "$(last_tick)" -gt "$(first_tick "$T/ticks-b")" ]
}

@test "C08: the whole machine is paused, its clock too: two run, and the fence refuses the old one" {
  needs_dynamic_dlock
  with_clocks_of mine dlock dlock_run a --ttl 3s paused -- \
    sh -c 'echo $$ >"$0/child"; exec python3 "$1" "$0/db" "$0/writes" old' "$T" "$PROGRAMS/fenced_writer.py"
  eventually 10s file_has "$T/writes" 'old accepted'
  FROZEN="$a_pid $(guard_of "$a_pid") $(cat "$T/child")"
  clock mine speed 0
  # shellcheck disable=SC2086  # pids are words
  kill -STOP $FROZEN
  dlock_run b --ttl 30s -k 100ms paused -- python3 "$PROGRAMS/fenced_writer.py" "$T/db" "$T/writes" new
  eventually 30s file_has "$T/writes" 'new accepted'
  clock mine speed 1
  # Who of them runs first is chance; the one that shows something is the command.
  kill -CONT "$(cat "$T/child")"
  eventually 10s file_has "$T/writes" 'old refused'
  # shellcheck disable=SC2086
  kill -CONT $FROZEN
  ends 10s a "exit 79"
  kill -TERM "$b_pid"
  ends 5s b "signal 15"
  # The old one did run beside the new one, and nothing it wrote was taken.
  sed '1,/new accepted/d' "$T/writes" >"$T/after"
  grep -q 'old refused' "$T/after"
  run ! grep -q 'old accepted' "$T/after"
  run ! grep -q 'new refused' "$T/after"
}

@test "C09: a machine that is up for a century, or for a moment" {
  unshare --time --boottime 1 true 2>/dev/null || skip "no time namespaces here, or not for us"
  local offset
  for offset in 3000000000 1 -60; do
    run -6 --separate-stderr unshare --time --boottime "$offset" "$DLOCK" run \
      --ttl 3s -k 200ms century -- sh -c 'sleep 3.2; exit 6'
    [ -z "$stderr" ]
    assert_free century
  done
  run -75 unshare --time --boottime 3000000000 "$DLOCK" run --ttl 3s -k 200ms century -- \
    "$DLOCK" run -w 0.3 --prefix other: century -- env -u DLOCK_HOLDS "$DLOCK" run -w 0.3 century -- true
}
