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

# with_hosts NAME ARG…: `dlock run` on the client's side, with the names of $T/hosts.
with_hosts() {
  local name=$1
  shift
  DLOCK_URL=redis://db.test:6379 spawn "$name" ip netns exec "$CLIENT" unshare -m sh -c '
    mount --bind "$0/hosts" /etc/hosts; [ ! -e "$0/resolv.conf" ] || mount --bind "$0/resolv.conf" /etc/resolv.conf
    exec "$DLOCK" run "$@"' "$T" "$@"
}

@test "N13: of two addresses the first is dead: the other is used, in either order" {
  local first second=$SERVER_ADDRESS
  for first in 10.77.0.9 "$SERVER_ADDRESS"; do
    [ "$first" != "$second" ] || second=10.77.0.9
    printf '%s db.test\n' "$first" "$second" >"$T/hosts"
    with_hosts a --connect-timeout 4s two -- true
    ends 10s a "exit 0"
    # The dead one may take half of the time.
    run ! grep -vE '^dlock: (no answer from redis://db.test:6379/0; retrying for|acquired "two" after)' "$T/a.err"
  done
}

@test "N13: the name gets another address while the lock is held: found on reconnecting" {
  echo "$SERVER_ADDRESS db.test" >"$T/hosts"
  ip -n "$SERVER" addr add 10.77.0.3/24 dev near
  o config set bind "$SERVER_ADDRESS 10.77.0.3"
  with_hosts a --ttl 6s -k 500ms moved -- sh -c 'touch "$0.in"; until [ -e "$0" ]; do sleep 0.02; done; exit 6' "$T/go"
  eventually 5s test -e "$T/go.in"
  echo "10.77.0.3 db.test" >"$T/hosts"
  ip -n "$SERVER" addr del "$SERVER_ADDRESS/24" dev near
  ip -n "$SERVER" addr add 10.77.0.3/24 dev near 2>/dev/null || true
  eventually 6s renewed_since "$(o pttl dlock:moved)"
  touch "$T/go"
  ends 8s a "exit 6"
  [ ! -s "$T/a.err" ]
  [ "$(o exists dlock:moved)" = 0 ]
}
renewed_since() { [ "$(o pttl dlock:moved)" -gt "$1" ]; }

@test "N13: a name that does not exist: 69 at once" {
  : >"$T/hosts"
  echo "nameserver $SERVER_ADDRESS" >"$T/resolv.conf"
  # It answers every question with NXDOMAIN.
  spawn names ip netns exec "$SERVER" python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 53))
open(sys.argv[2], "w").close()
while True:
    question, peer = s.recvfrom(512)
    s.sendto(question[:2] + bytes.fromhex("81830001000000000000") + question[12:], peer)' "$SERVER_ADDRESS" "$T/listens"
  eventually 10s test -e "$T/listens"
  with_hosts a --connect-timeout 60s nowhere -- touch "$T/started"
  ends 10s a "exit 69"
  grep -q 'cannot find host "db.test": domain name not found' "$T/a.err"
  [ ! -e "$T/started" ]
}

@test "N13: a name server that never answers: 69 within the limit" {
  : >"$T/hosts"
  echo "nameserver $SERVER_ADDRESS" >"$T/resolv.conf"
  PORT='udp dport 53' packets drop
  local at
  at=$(boot_ms)
  with_hosts a --connect-timeout 1s silent -- touch "$T/started"
  ends 10s a "exit 69"
  [ $(($(boot_ms) - at)) -lt 4000 ]
  grep -q db.test "$T/a.err"
  [ ! -e "$T/started" ]
}
