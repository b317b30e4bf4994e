# SPDX-License-Identifier: MIT
# For the suites with a Redis cluster: three masters, and replicas of them, on loopback ports. A part
# of suite.bash.
# shellcheck shell=bash

# start_cluster DIR [REPLICAS [OPTION…]]: starts three masters and REPLICAS replicas (0 or 3), with
# their data in DIR. The OPTIONs are for each server. If NODE_CERTIFICATE is set, the name of a
# certificate of tls.bash, the servers speak only TLS. Sets NODE_DIR, NODE_PORTS, NODE_IDS,
# NODE_PIDS and DLOCK_URL.
start_cluster() {
  local i count=$((3 + ${2:-0})) ranges=("0 5460" "5461 10922" "10923 16383") listen
  export NODE_DIR=$1
  shift $(($# > 2 ? 2 : $#))
  NODE_PORTS=() NODE_IDS=() NODE_PIDS=()
  for ((i = 0; i < count; i++)); do
    NODE_PORTS+=("$(free_port)")
    mkdir -p "$NODE_DIR/$i"
    listen=(--port "${NODE_PORTS[i]}")
    [ -z "${NODE_CERTIFICATE:-}" ] || listen=(--port 0 --tls-port "${NODE_PORTS[i]}" --tls-cluster yes
      --tls-cert-file "$TLS/$NODE_CERTIFICATE.crt" --tls-key-file "$TLS/$NODE_CERTIFICATE.key"
      --tls-ca-cert-file "$TLS/ca.crt" --tls-auth-clients no)
    redis-server "${listen[@]}" --bind 127.0.0.1 --unixsocket "$NODE_DIR/$i.sock" --save '' \
      --appendonly no --dir "$NODE_DIR/$i" --cluster-enabled yes --cluster-node-timeout 2000 \
      --cluster-require-full-coverage no --repl-diskless-sync-delay 0 "$@" \
      >"$NODE_DIR/$i.log" 2>&1 3>&- &
    NODE_PIDS+=($!)
    OTHER_PIDS="${OTHER_PIDS:-} $!" # clean_up ends them
  done
  for ((i = 0; i < count; i++)); do
    eventually 10s node_is_up "$i" || { cat "$NODE_DIR/$i.log"; return 1; }
    NODE_IDS+=("$(node "$i" cluster myid)")
    node "$i" cluster set-config-epoch $((i + 1)) >/dev/null
    # shellcheck disable=SC2046,SC2086  # words
    [ "$i" -ge 3 ] || node "$i" cluster addslots $(seq ${ranges[i]}) >/dev/null
    [ "$i" = 0 ] || node 0 cluster meet 127.0.0.1 "${NODE_PORTS[i]}" >/dev/null
  done
  for ((i = 0; i < count; i++)); do eventually 20s node_knows "$i" "$count"; done
  for ((i = 3; i < count; i++)); do node "$i" cluster replicate "${NODE_IDS[i - 3]}" >/dev/null; done
  for ((i = 3; i < count; i++)); do eventually 20s replica_has_all "$i"; done
  export DLOCK_URL=redis${NODE_CERTIFICATE:+s}+cluster://127.0.0.1:${NODE_PORTS[0]},127.0.0.1:${NODE_PORTS[1]}
}
# keep_cluster: called by a setup_file that has started the cluster. find_cluster: called by each
# test of the file. They pass the arrays on in a file, because bash cannot export arrays.
keep_cluster() { declare -p NODE_PORTS NODE_IDS NODE_PIDS >"$NODE_DIR/arrays"; }
# shellcheck disable=SC1090  # made above
find_cluster() { . <(sed 's/^declare -a/declare -ga/' "$NODE_DIR/arrays"); }
stop_cluster() { end_ours "${NODE_PIDS[@]}"; }
# node N COMMAND…: runs redis-cli on node N.
node() {
  local socket=$NODE_DIR/$1.sock
  shift
  redis-cli -s "$socket" "$@"
}
node_is_up() { [ "$(node "$1" ping 2>/dev/null)" = PONG ]; }
node_knows() {
  [ "$(node "$1" cluster nodes | grep -c ' connected')" = "$2" ] &&
    node "$1" cluster info | grep -q cluster_state:ok &&
    node "$1" cluster info | grep -q cluster_slots_ok:16384
}
# Succeeds if the replica has the data of its master, and the master has learned that from the
# messages of the cluster.
replica_has_all() {
  node "$1" info replication | grep -q master_link_status:up &&
    node $(($1 - 3)) cluster nodes | grep "^${NODE_IDS[$1]} " | grep -q slave
}

slot_of() { node 0 cluster keyslot "dlock:$1"; }
# Prints the number of the master that has the slot of this name.
owner_of() {
  local slot i
  slot=$(slot_of "$1")
  for i in "${!NODE_PORTS[@]}"; do
    ! node "$i" cluster nodes 2>/dev/null | grep myself,master | cut -d' ' -f9- | tr ' ' '\n' |
      awk -F- -v slot="$slot" '/^[0-9]+(-[0-9]+)?$/ {
        if (slot >= $1 && slot <= ($2 == "" ? $1 : $2)) found = 1 } END { exit !found }' ||
      { echo "$i"; return; }
  done
}
# Prints the URL with one node as the only seed.
seed() { echo "redis+cluster://127.0.0.1:${NODE_PORTS[$1]}"; }
