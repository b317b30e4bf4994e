# SPDX-License-Identifier: MIT
# A private etcd for a file: one member or several, on free ports of the loopback, in $ETCD (a folder
# of the file), stopped when the file ends. Its timers are short, so that leases of 2 s are possible
# and a new leader comes soon. A part of suite.bash.
# shellcheck shell=bash

# start_etcd [MEMBERS]: starts the etcd; sets ETCD, DLOCK_URL and the variables that etcdctl reads.
start_etcd() {
  local i all="" urls=""
  clean_environment
  installed etcd etcd etcd-server && installed etcdctl etcdctl etcd-client || return 1
  export ETCD=$BATS_FILE_TMPDIR/etcd ETCD_MEMBERS=${1:-1} ETCDCTL_API=3
  mkdir -p "$ETCD"
  for ((i = 0; i < ETCD_MEMBERS; i++)); do
    echo "$(free_port) $(free_port)" >"$ETCD/$i.ports"
    all+=${all:+,}m$i=http://127.0.0.1:$(cut -d' ' -f2 "$ETCD/$i.ports")
    urls+=${urls:+,}127.0.0.1:$(cut -d' ' -f1 "$ETCD/$i.ports")
  done
  export ETCD_CLUSTER=$all DLOCK_URL=etcd://$urls ETCDCTL_ENDPOINTS=$urls
  for ((i = 0; i < ETCD_MEMBERS; i++)); do run_member "$i"; done
  eventually 30s etcd_answers || { tail -n 5 "$ETCD"/*.log; return 1; }
}

# run_member N [OPTION…]: starts member N, or starts it again with its data.
run_member() {
  local n=$1 port peer
  shift
  read -r port peer <"$ETCD/$n.ports"
  etcd --name "m$n" --data-dir "$ETCD/$n" --listen-client-urls "http://127.0.0.1:$port" \
    --advertise-client-urls "http://127.0.0.1:$port" --listen-peer-urls "http://127.0.0.1:$peer" \
    --initial-advertise-peer-urls "http://127.0.0.1:$peer" --initial-cluster "$ETCD_CLUSTER" \
    --heartbeat-interval 50 --election-timeout 500 --unsafe-no-fsync "$@" >>"$ETCD/$n.log" 2>&1 3>&- &
  echo $! >"$ETCD/$n.pid"
}
etcd_answers() { e get --keys-only none >/dev/null 2>&1; }
# e WORD…: runs etcdctl.
e() { etcdctl --dial-timeout 2s --command-timeout 4s "$@"; }

# signal_member N SIGNAL
signal_member() { ! is_ours "$(cat "$ETCD/$1.pid")" || kill "-$2" "$(cat "$ETCD/$1.pid")"; }
kill_member() {
  signal_member "$1" KILL
  eventually 10s gone "$(cat "$ETCD/$1.pid")"
}
stop_etcd() {
  local pid
  for pid in "${ETCD:-/nowhere}"/*.pid; do
    [ ! -s "$pid" ] || ! is_ours "$(cat "$pid")" || kill -KILL "$(cat "$pid")"
  done
}
# leader: prints the number of the member that leads.
leader() {
  local i
  for ((i = 0; i < ETCD_MEMBERS; i++)); do
    ! ETCDCTL_ENDPOINTS=127.0.0.1:$(cut -d' ' -f1 "$ETCD/$i.ports") \
      e endpoint status -w json 2>/dev/null | python3 -S -c 'import json, sys
status = json.load(sys.stdin)[0]["Status"]
sys.exit(status["leader"] != status["header"]["member_id"])' || { echo "$i" && return; }
  done
}

# Prints the keys of a lock, as etcdctl sees them; succeeds even if there are no keys.
keys_of() { e get --prefix --keys-only "$1/" | grep . || true; }
clean_keys() { eventually 20s e del --prefix '' >/dev/null; }
no_keys() { [ -z "$(keys_of "$1")" ]; }
# etcdctl_run NAME LOCK COMMAND…: spawns, as NAME, an etcdctl that runs COMMAND under its own lock.
etcdctl_run() { spawn "$1" etcdctl lock "$2" -- "${@:3}"; }
