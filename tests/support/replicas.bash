# SPDX-License-Identifier: MIT
# For the suites with a master and replicas of it: real servers on loopback ports. A part of
# suite.bash.
# shellcheck shell=bash disable=SC2154  # T is set by supervise.bash

# start_set COUNT: starts a master and COUNT replicas, and returns when these have its data.
# DLOCK_URL is the master's. The sockets are $T/0.sock (the master's), $T/1.sock …; SET_PORTS and
# SET_PIDS have the ports and pids in the same order. MASTER_PORT is where replicas and sentinels
# reach the master: through the proxy if BEHIND_PROXY is set, so that `proxy blackhole` cuts the
# master off from them.
start_set() {
  local i of=()
  SET_PORTS=() SET_PIDS=()
  for ((i = 0; i <= $1; i++)); do
    SET_PORTS+=("$(free_port)")
    start_member "$i" "${of[@]}"
    if [ "$i" = 0 ]; then
      MASTER_PORT=${SET_PORTS[0]}
      [ -z "${BEHIND_PROXY:-}" ] || { start_proxy "$T/0.sock" && MASTER_PORT=${PROXY_URL##*:}; }
      of=(--replicaof 127.0.0.1 "$MASTER_PORT")
    fi
  done
  eventually 20s replicas_online "$1" || { cat "$T/0.log"; return 1; }
  export DLOCK_URL=redis+unix://$T/0.sock
}
# start_member N [OPTION…]: starts or restarts a server of the set.
start_member() {
  local i=$1
  mkdir -p "$T/$i"
  redis-server --port "${SET_PORTS[i]}" --unixsocket "$T/$i.sock" --save '' --appendonly no \
    --repl-diskless-sync-delay 0 --repl-ping-replica-period 1 --replica-announce-ip 127.0.0.1 \
    --dir "$T/$i" "${@:2}" >>"$T/$i.log" 2>&1 3>&- &
  SET_PIDS[i]=$!
  STARTED+=($!)
  eventually 10s is_up "$i"
}
# on N COMMAND…: runs redis-cli on server N of the set; 0 is the first master.
on() {
  local server=$T/$1.sock
  shift
  redis-cli -s "$server" "$@"
}
is_up() { [ "$(on "$1" ping 2>/dev/null)" = PONG ]; }
replicas_online() { [ "$(on 0 info replication | grep -c 'state=online')" = "$1" ]; }
# freeze N, thaw N: stops or continues a server of the set.
freeze() { kill -STOP "${SET_PIDS[$1]}"; }
thaw() { kill -CONT "${SET_PIDS[$1]}"; }
# kill_member N: kills the server; returns when the whole process has ended, not only its first
# thread, and its port is free.
kill_member() {
  kill -KILL "${SET_PIDS[$1]}"
  wait "${SET_PIDS[$1]}" 2>/dev/null || true
}
# no_lock_at NAME N…: succeeds if none of these servers has the lock or a record of it.
no_lock_at() {
  local name=$1 n
  shift
  for n; do [ "$(on "$n" exists "dlock:$name" "dlock:holds:{dlock:$name}")" = 0 ] || return 1; done
}
