# SPDX-License-Identifier: MIT
# A private ZooKeeper for a file: one server or several, on free ports of the loopback, in $ZOOKEEPER (a
# folder of the file), stopped when the file ends. It takes no care of its disk. A part of suite.bash.
# shellcheck shell=bash

# start_zookeeper [SERVERS] [SETTING…]: starts the servers; sets ZOOKEEPER and DLOCK_URL. A SETTING
# is a line of zoo.cfg for all servers. If no SETTING gives the length of a tick, ticks are short,
# so that leases end on time.
start_zookeeper() {
  local i all=() urls=""
  clean_environment
  installed ZooKeeper /usr/share/java/zookeeper.jar libzookeeper-java || return 1
  installed java java default-jre-headless || return 1
  export ZOOKEEPER=$BATS_FILE_TMPDIR/zookeeper ZOOKEEPER_SERVERS=${1:-1}
  for ((i = 0; i < ZOOKEEPER_SERVERS; i++)); do
    mkdir -p "$ZOOKEEPER/$i/data"
    echo $((i + 1)) >"$ZOOKEEPER/$i/data/myid"
    free_port >"$ZOOKEEPER/$i/port"
    all+=("server.$((i + 1))=127.0.0.1:$(free_port):$(free_port)")
    urls+=${urls:+,}127.0.0.1:$(port_of "$i")
  done
  export DLOCK_URL=zookeeper://$urls
  [ "$ZOOKEEPER_SERVERS" -gt 1 ] || all=()
  for ((i = 0; i < ZOOKEEPER_SERVERS; i++)); do
    configure_server "$ZOOKEEPER/$i" "$(port_of "$i")" "${all[@]}" "${@:2}"
    run_server "$i"
  done
  eventually 60s zookeeper_answers || { tail -n 5 "$ZOOKEEPER"/*/log; return 1; }
}
port_of() { cat "$ZOOKEEPER/$1/port"; } # N

# configure_server FOLDER PORT [SETTING…]: writes zoo.cfg. If a setting occurs twice, the last one
# counts.
configure_server() {
  printf '%s\n' tickTime=200 maxSessionTimeout=40000 initLimit=50 syncLimit=20 \
    admin.enableServer=false 4lw.commands.whitelist=srvr,mntr "dataDir=$1/data" \
    clientPortAddress=127.0.0.1 "clientPort=$2" "${@:3}" >"$1/zoo.cfg"
}
# java_zookeeper FOLDER: replaces this shell by the server. It deletes empty folders of locks within
# a second instead of a minute.
java_zookeeper() {
  local jars=/usr/share/java path jar
  path=$jars/zookeeper.jar
  for jar in slf4j-simple netty-codec netty-resolver; do path+=:$jars/$jar.jar; done
  exec java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData \
    -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -Dzookeeper.forceSync=no \
    -Dzookeeper.preAllocSize=64 -Dznode.container.checkIntervalMs=1000 -cp "$path" \
    org.apache.zookeeper.server.quorum.QuorumPeerMain "$1/zoo.cfg" >>"$1/log" 2>&1 3>&-
}

# run_server N: starts server N, or starts it again with its data.
run_server() {
  java_zookeeper "$ZOOKEEPER/$1" &
  echo $! >"$ZOOKEEPER/$1/pid"
}
zookeeper_answers() {
  local i
  for ((i = 0; i < ZOOKEEPER_SERVERS; i++)); do mode_of "$i" >/dev/null || return; done
}
mode_of() { python3 -S "$PROGRAMS/zk.py" "$(port_of "$1")" mode 2>/dev/null; } # N

# signal_server N SIGNAL
signal_server() { ! is_ours "$(cat "$ZOOKEEPER/$1/pid")" || kill "-$2" "$(cat "$ZOOKEEPER/$1/pid")"; }
kill_server() {
  signal_server "$1" KILL
  eventually 10s gone "$(cat "$ZOOKEEPER/$1/pid")"
}
stop_zookeeper() {
  local pid
  for pid in "${ZOOKEEPER:-/nowhere}"/*/pid; do
    [ ! -s "$pid" ] || end_ours "$(cat "$pid")"
  done
}
# leader, follower: print the number of the server that leads, or of one that does not.
leader() { server_that leader; }
follower() { server_that follower; }
server_that() {
  local i
  for ((i = 0; i < ZOOKEEPER_SERVERS; i++)); do
    [ "$(mode_of "$i")" != "$1" ] || { echo "$i" && return; }
  done
  return 1
}

# zk WORD…: runs zk.py at the first server. zk_at N WORD…: runs it at server N.
zk() { zk_at 0 "$@"; }
zk_at() { python3 -S "$PROGRAMS/zk.py" "$(port_of "$1")" "${@:2}"; }

# nodes_of NAME: prints the nodes of a lock. node_of NAME: prints the path of its only node.
# no_nodes NAME: succeeds if it has no node.
nodes_of() { zk children "/$1"; }
node_of() { printf '/%s/%s' "$1" "$(nodes_of "$1")"; }
no_nodes() { [ -z "$(nodes_of "$1")" ]; }
empty_tree() { ! zk tree / | grep -qvx /dlock-done; } # /dlock-done has the epoch of the tokens
