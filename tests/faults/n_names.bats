#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Names: of several name servers or addresses one is dead, silent or refuses, a packet is lost, one
# kind of address stays away. The rest is used in time, at a start and within a hold.
# shellcheck disable=SC2154,SC2016  # *_pid come from spawn; '…' is for inner shells

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

# with_hosts NAME ARG…: `dlock run` on the client's side, with the names of $T/hosts.
with_hosts() {
  local name=$1
  shift
  DLOCK_URL=redis://${AT:-db.test:6379} spawn "$name" ip netns exec "$CLIENT" unshare -m sh -c '
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

@test "N13: of two addresses the first takes connections and keeps silent: the other is used" {
  local far=$FAR_URL
  ip -n "$SERVER" addr add 10.77.0.3/24 dev near
  SERVER_ADDRESS=10.77.0.3 start_far_server deaf
  kill -STOP "$OTHER_PID"
  FAR_URL=$far
  printf '%s db.test\n' 10.77.0.3 "$SERVER_ADDRESS" >"$T/hosts"
  with_hosts a --connect-timeout 4s two -- true
  ends 10s a "exit 0"
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

# name_server NAME RULE…: one at SERVER_ADDRESS, which the client asks after those of its FIRST.
name_server() {
  local name=$1 one
  shift
  : >"$T/hosts"
  for one in ${FIRST:-} "$SERVER_ADDRESS"; do echo "nameserver $one"; done >"$T/resolv.conf"
  spawn "$name" ip netns exec "$SERVER" python3 "$PROGRAMS/name_server.py" "$SERVER_ADDRESS" "$T/$name.listens" "$@"
  eventually 10s test -e "$T/$name.listens"
}
# found_in_time: a run at the name, which a search of one name server for 5 s would end with 69.
found_in_time() {
  with_hosts a --connect-timeout 3s found -- true
  ends 10s a "exit 0"
}

@test "N13: the first name server is silent or refuses: the next one is asked in time" {
  ip -n "$SERVER" addr add 10.77.0.4/24 dev near
  FIRST=10.77.0.4 name_server names A="$SERVER_ADDRESS"
  found_in_time # nothing listens there
  PORT='ip daddr 10.77.0.4 udp dport 53' packets drop
  found_in_time
  echo 'options timeout:1 attempts:1' >>"$T/resolv.conf"
  found_in_time
}

@test "N13: the first name server says that it refuses: the next one is asked" {
  ip -n "$SERVER" addr add 10.77.0.4/24 dev near
  FIRST=10.77.0.4 name_server names A="$SERVER_ADDRESS"
  spawn refuses ip netns exec "$SERVER" python3 "$PROGRAMS/name_server.py" 10.77.0.4 "$T/refuses" ANY=refused
  eventually 10s test -e "$T/refuses"
  found_in_time
}

@test "N13: a lost packet, or questions for AAAA that are dropped, do not keep a run" {
  name_server lossy A=lose:1:"$SERVER_ADDRESS"
  found_in_time
  kill "$lossy_pid"
  ends 5s lossy "signal 15"
  name_server without A="$SERVER_ADDRESS" AAAA=silence
  with_hosts a --connect-timeout 40s found -- true # of which a search may take half
  ends 10s a "exit 0"
}

@test "N13: name servers die while a lock is held: reconnects find the next one, or the last address" {
  ip -n "$SERVER" addr add 10.77.0.4/24 dev near
  name_server names A="$SERVER_ADDRESS"
  with_hosts a --ttl 2s -k 200ms names -- sh -c 'touch "$0.in"; until [ -e "$0" ]; do sleep 0.02; done; exit 6' "$T/go"
  eventually 5s test -e "$T/go.in"
  PORT='ip daddr 10.77.0.4 udp dport 53' packets drop
  printf 'nameserver %s\n' 10.77.0.4 "$SERVER_ADDRESS" >"$T/resolv.conf"
  reconnects
  PORT='udp dport 53' packets drop
  reconnects
  touch "$T/go"
  ends 8s a "exit 6"
}

# reconnects: the holder loses its connections, and has asked the server several times since.
reconnects() {
  o client kill type normal skipme yes
  eventually 6s asked_since "$(asked)"
}
asked() { o info commandstats | tr -d '\r' | sed -nE 's/^cmdstat_evalsha:calls=([0-9]+),.*/\1/p'; }
asked_since() { [ "$(asked)" -gt $(($1 + 2)) ]; }

@test "N13: a name that does not exist: 69 at once" {
  name_server names ANY=nxdomain
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

@test "N13: localhost is this machine, also without /etc/hosts and name servers" {
  : >"$T/hosts"
  echo "nameserver $SERVER_ADDRESS" >"$T/resolv.conf"
  PORT='udp dport 53' packets drop
  AT=localhost:1 with_hosts a local -- true
  ends 10s a "exit 69"
  grep -q 'localhost:1/0: connection refused' "$T/a.err"
}
