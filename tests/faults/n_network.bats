#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A network that lets nothing through, resets, loses packets or breaks in the middle: the command is
# stopped before its lease can end, no call outlives its limit, and there is never an overlap.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031  # *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite ticker leases network

setup() {
  set_up
  start_network
  start_far_server far
}
teardown() {
  clean_up
  end_network
}
# The rival is on the server's own machine: nothing is between them.
near_rival() { DLOCK_URL=$OTHER_URL dlock_run b --ttl 3s "$@" -- "$TICKER" "$T/ticks-b" for 20; }
granted_after_the_last_tick() {
  ends 10s b "exit 0"
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-b")" ]
  rm "$T/ticks-b"
}

@test "N01: packets answered by resets: 79 before the lease ends" {
  far_hold reset
  near_rival reset
  packets 'reject with tcp reset'
  dead_before_the_end_of_the_lease "$(boot_ms)"
  granted_after_the_last_tick
}

@test "N02: nothing comes through, by a firewall, a dead link, a route: 79 before the lease ends" {
  far_hold firewall
  near_rival firewall
  packets drop
  dead_before_the_end_of_the_lease "$(boot_ms)"
  granted_after_the_last_tick
  packets
  far_hold cable
  near_rival cable
  ip -n "$SERVER" link set near down
  dead_before_the_end_of_the_lease "$(boot_ms)"
  granted_after_the_last_tick
  ip -n "$SERVER" link set near up
  far_hold route
  near_rival route
  ip -n "$SERVER" route add blackhole 10.77.0.1/32
  dead_before_the_end_of_the_lease "$(boot_ms)"
  granted_after_the_last_tick
}

@test "N11: a half-open connection: unknown at the limit of a call, not at some keepalive" {
  far_hold half-open --log-format json -v
  packets drop
  kill -KILL "$OTHER_PID"
  local at unknown
  at=$(boot_ms)
  dead_before_the_end_of_the_lease "$at"
  unknown=$(sed -nE 's/.*"boot_ns": ?([0-9]+)[0-9]{6},.*"event": ?"unknown".*/\1/p' "$T/a.err" | head -1)
  # The next renewal is due within a second, and has a tenth of the lease.
  [ -n "$unknown" ]
  [ $((unknown - at)) -lt 2700 ] || { echo "unknown after $((unknown - at)) ms"; false; }
}

@test "N14: a third of the packets is lost: runs get through, and never two at a time" {
  packets 'numgen random mod 100 < 30 drop'
  export -f far_runs
  export T DLOCK TICKER FAR_URL CLIENT
  local who
  for who in 1 2 3 4 5; do spawn "w$who" bash -c "far_runs $who"; done
  for who in 1 2 3 4 5; do
    eventually 100s ended "w$who"
  done
  cat "$T"/w?.out | sort | uniq -c
  # Most get through; a lock that cannot be had or kept is 69 or 79.
  [ "$(cat "$T"/w?.out | grep -cx 0)" -ge 13 ]
  run ! grep -vxE '0|69|79' "$T"/w?.out
  # Nobody began before the one before had ended.
  local file
  for file in "$T"/loss-*; do echo "$(sed -n '1s/ .*//p' "$file") $(sed -n '$s/ .*//p' "$file")"; done |
    sort -n | awk '$1 <= last { print "overlap at " $1; bad = 1 } { last = $2 } END { exit bad }'
}
# far_runs WHO: five runs of a short section each; prints how each ended.
far_runs() {
  local i
  for i in 1 2 3 4 5; do
    DLOCK_URL=$FAR_URL ip netns exec "$CLIENT" "$DLOCK" run --ttl 4s --connect-timeout 30s loss -- \
      "$TICKER" "$T/loss-$1-$i" for 30
    echo $?
  done
}
