# SPDX-License-Identifier: MIT
# For the suites that break a network: a network of two, CLIENT and SERVER, each in a namespace of
# its own and joined by nothing but one link. Needs root. A part of suite.bash.
# shellcheck shell=bash disable=SC2154  # T is set by supervise.bash

SERVER_ADDRESS=10.77.0.2

# start_network: makes the two namespaces and sets their names, CLIENT and SERVER.
start_network() {
  [ "$(id -u)" = 0 ] || skip "root is needed for network namespaces"
  CLIENT=dlock-client-$$-$BATS_TEST_NUMBER SERVER=dlock-server-$$-$BATS_TEST_NUMBER
  ip netns add "$CLIENT" 2>/dev/null || skip "no network namespaces here, or not for us"
  ip netns add "$SERVER"
  ip link add name near netns "$CLIENT" type veth peer name near netns "$SERVER"
  ip -n "$CLIENT" addr add 10.77.0.1/24 dev near
  ip -n "$SERVER" addr add $SERVER_ADDRESS/24 dev near
  local side device
  for side in "$CLIENT" "$SERVER"; do
    for device in lo near; do ip -n "$side" link set "$device" up; done
  done
}

# For teardown, after the processes in the network have ended.
end_network() {
  [ -z "${CLIENT:-}" ] || ip netns del "$CLIENT" 2>/dev/null || true
  [ -z "${SERVER:-}" ] || ip netns del "$SERVER" 2>/dev/null || true
}

# start_far_server NAME [OPTION…]: start_other in the namespace of the server. FAR_URL is its URL
# for the client.
start_far_server() {
  # shellcheck disable=SC2317  # called by start_other
  redis-server() { exec ip netns exec "$SERVER" redis-server "$@"; }
  start_other "$@" --port 6379 --bind "$SERVER_ADDRESS" --protected-mode no
  unset -f redis-server
  FAR_URL=redis://$SERVER_ADDRESS:6379
}

# far_run NAME ARG…: runs `dlock run` in the client's namespace.
far_run() {
  local name=$1
  shift
  DLOCK_URL=$FAR_URL spawn "$name" ip netns exec "$CLIENT" "$DLOCK" run "$@"
}
# far_hold NAME [OPTION…]: hold_deaf of leases.bash, in the client's namespace.
far_hold() { HOLD_BY=far_run hold_deaf "$@"; }

# packets RULE: sets what the server's side does from now on with incoming packets for the server
# (or for another PORT), e.g. `packets drop`; without RULE all packets pass again.
packets() {
  ip netns exec "$SERVER" nft flush ruleset
  [ $# = 0 ] || printf '%s\n' 'table inet faults {' \
    'chain in { type filter hook input priority 0' "${PORT:-tcp dport 6379} $*" '}' '}' |
    ip netns exec "$SERVER" nft -f -
}
