# SPDX-License-Identifier: MIT
# For the suites with a quorum: independent servers in $T/0.sock, $T/1.sock …, in the order in which
# dlock sorts them, so the first is the leader. A part of suite.bash, with replicas.
# shellcheck shell=bash disable=SC2154,SC2034  # T is of supervise.bash, SET_PIDS for replicas.bash

# start_quorum COUNT: starts COUNT servers. The quorum delay is 0, because these tests restart no
# server whose vote must not count. If the shim of clocks.bash was built, server N sees the clocks
# of "serverN".
start_quorum() {
  local i shown
  SET_PORTS=() SET_PIDS=() DLOCK_URL=""
  for ((i = 0; i < $1; i++)); do
    SET_PORTS+=("$(free_port)")
    shown=()
    [ -z "${CLOCK_SHIM_SO:-}" ] || shown=(with_clocks_of "server$i" redis)
    "${shown[@]}" start_member "$i"
    DLOCK_URL+="${DLOCK_URL:+ }redis+unix://$T/$i.sock"
  done
  export DLOCK_URL DLOCK_QUORUM_DELAY=0
}
# held_at NAME N…: succeeds if each of these servers has the lock.
held_at() {
  local name=$1 n
  shift
  for n; do [ "$(on "$n" exists "dlock:$name")" = 1 ] || return 1; done
}
