#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A server whose clock jumps. Redis ends leases by its wall clock: ahead, a lock is gone before its
# time, and two may run until the holder's next renewal; back, a lock stays longer than was said.
# shellcheck disable=SC2154,SC2016  # *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite ticker clock_shim leases clocks

setup() {
  set_up
  with_clocks_of server redis start_other shifted
  export DLOCK_URL=$OTHER_URL
}
server_time() { o time | head -1; }

@test "C01: ahead by more than the lease: the old holder is stopped, the new one has a larger token" {
  hold_deaf ahead -k 200ms
  local at before
  before=$(server_time)
  at=$(boot_ms)
  clock server real 3600
  [ "$(server_time)" -ge $((before + 3600)) ]
  hold_as b ahead --ttl 30s -k 100ms
  stopped_in_time_after "$at"
  [ "$(token_of b)" -gt "$(token_of a)" ]
  [ "$(o hvals dlock:ahead)" = 1 ]
  [ ! -s "$T/b.end" ]
}

@test "C02: ahead by less than the margin within each lease: no run is disturbed, no second one enters" {
  start_proxy "$OTHER_SOCKET"
  DLOCK_URL=$PROXY_URL hold_deaf steps -k 200ms
  dlock_run b --ttl 3s steps -- "$TICKER" "$T/ticks-b" for 20
  # Five ms, six times in the three seconds of a lease: 30 of the 40 ms of its margin.
  clock server real 0.005 0 0 0 0 0.005 0 0 0 0 0.005 0 0 0 0 0.005
  [ ! -s "$T/a.end" ]
  [ ! -e "$T/ticks-b" ]
  proxy blackhole
  local at
  at=$(boot_ms)
  clock server real 0.005 0 0 0 0 0.005 0 0 0 0 0.005 0 0 0 0 0.005 0 0 0 0 0.005
  dead_before_the_end_of_the_lease "$at"
  ends 10s b "exit 0"
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-b")" ]
}

@test "C03: back by an hour: a dead holder's lock stays, and is seen to; a live one is undisturbed" {
  dlock_run live --ttl 3s -k 200ms live -- sh -c 'until [ -e "$0" ]; do sleep 0.05; done; exit 6' "$T/go"
  hold_deaf dead
  clock server real -3600
  sleep 3.5 # longer than the lease of the live one
  [ "$(o pttl dlock:live)" -gt 3000 ]
  [ ! -s "$T/live.end" ]
  touch "$T/go"
  ends 5s live "exit 6"
  [ ! -s "$T/live.err" ]
  [ "$(o exists dlock:live)" = 0 ]
  kill -KILL "$a_pid"
  [ "$(o pttl dlock:dead)" -gt 3500000 ]
  run -0 "$DLOCK" inspect dead
  [[ $output == *"59m"* || $output == *"1h"* ]]
  run -75 "$DLOCK" run -w 1 dead -- true
  run -0 "$DLOCK" force-release --yes --now dead
  run -0 "$DLOCK" run -n dead -- true
}

@test "C04: back by an hour, and its data gone: the one hole of the tokens, the next is smaller" {
  local before after
  before=$("$DLOCK" run hole -- sh -c 'echo $DLOCK_TOKEN')
  clock server real -3600
  # The clock alone does no harm.
  after=$("$DLOCK" run hole -- sh -c 'echo $DLOCK_TOKEN')
  [ "$after" -gt "$before" ]
  o flushall
  after=$("$DLOCK" run hole -- sh -c 'echo $DLOCK_TOKEN')
  [ "$after" -lt "$before" ]
}
