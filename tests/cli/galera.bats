#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the nodes of a Galera cluster keep one lock together: a claim at one excludes those at the
# others, and a node that lags behind says nothing old.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise databases

setup_file() {
  set_up_file
  start_mariadb
  stop_database
  export NODES=$DB NODE_PORTS
  NODE_PORTS="$(free_port) $(free_port)"
  run_node 1 gcomm://
  mkdir "$NODES/data2"
  chown mysql "$NODES/data2"
  run_node 2 "gcomm://127.0.0.1:${NODE_PORTS% *}"
}
teardown_file() {
  local n
  for n in 1 2; do
    cp "$NODES/pid$n" "$DB/pid" && stop_database
  done
}

# run_node N CLUSTER: returns when it has all that the cluster has.
run_node() {
  local data=$NODES/data port options base
  [ "$1" = 1 ] || data=$NODES/data2
  base=$(cut -d ' ' -f "$1" <<<"$NODE_PORTS")
  port=$(free_port)
  options="base_host=127.0.0.1;base_port=$base;gmcast.listen_addr=tcp://127.0.0.1:$base"
  options+=";ist.recv_addr=127.0.0.1:$(free_port);gcache.size=8M"
  in_database mariadbd --no-defaults --datadir="$data" --tmpdir="$NODES" --socket="$NODES/socket$1" \
    --port="$port" --bind-address=127.0.0.1 --pid-file="$NODES/mariadb$1.pid" --skip-name-resolve \
    --innodb-buffer-pool-size=8M --innodb-flush-log-at-trx-commit=2 --performance-schema=0 --max-connections=300 \
    --binlog-format=ROW --innodb-autoinc-lock-mode=2 --wsrep-on=1 --wsrep-provider=/usr/lib/galera/libgalera_smm.so \
    --wsrep-cluster-address="$2" --wsrep-node-address=127.0.0.1 --wsrep-node-name="node$1" --wsrep-sst-method=rsync \
    --wsrep-sst-receive-address="127.0.0.1:$(free_port)" --wsrep-provider-options="$options" \
    >>"$NODES/log$1" 2>&1 3>&- &
  echo $! >"$NODES/pid$1"
  eventually 60s synced "$1" || { tail -n 20 "$NODES/log$1"; return 1; }
}
at_node() { mariadb --no-defaults -NB -S "$NODES/socket$1" -u root locks -e "$2"; }
synced() { at_node "$1" "SHOW STATUS LIKE 'wsrep_local_state_comment'" 2>/dev/null | grep -q Synced; }
url_of() { echo "mysql://root@/locks?socket=$NODES/socket$1"; }

# bats test_tags=nightly
@test "claims at two nodes exclude each other, and none is lost" {
  local i k pid pids=()
  echo 0 >"$T/count"
  for i in 1 2 3 4 5 6; do
    (for ((k = 0; k < 10; k++)); do
      "$DLOCK" --url "$(url_of $((i % 2 + 1)))" run -w 100 counter -- \
        sh -c 'read n <"$0"; echo $((n + 1)) >"$0"' "$T/count" || exit
    done) 2>>"$T/err" 3>&- &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || fail "$(grep -v waiting "$T/err" | head -5)"; done
  assert_equal "$(cat "$T/count")" 60
  export DLOCK_URL
  DLOCK_URL=$(url_of 1)
  dlock_run a --ttl 3s a -- sh -c 'touch "$0/in"; until [ -e "$0/go" ]; do sleep 0.02; done' "$T"
  eventually 10s test -e "$T/in"
  for _ in 1 2 3 4 5; do
    run -75 "$DLOCK" --url "$(url_of 2)" run -n a -- touch "$MARKER"
    sleep 1
  done
  touch "$T/go"
  ends 10s a "exit 0"
  assert_not_started
}

# bats test_tags=nightly
@test "a node that has not yet what another one granted is waited for, and does not say that it is lost" {
  local owner
  (printf 'FLUSH TABLES WITH READ LOCK;\nSELECT 1;\nSELECT sleep(3);\nUNLOCK TABLES;\n' |
    mariadb --no-defaults -NB --unbuffered -S "$NODES/socket2" -u root >"$T/lagging") 3>&- &
  local lagging=$!
  eventually 10s test -s "$T/lagging"
  owner=$("$DLOCK" --url "$(url_of 1)" acquire b --ttl 20s | sed -n 's/^export DLOCK_OWNER=//p' | tr -d "'")
  [ "$(at_node 2 'SELECT count(*) FROM dlock WHERE name = "b" AND locked_by != ""')" = 0 ] # it lags
  run -0 "$DLOCK" --url "$(url_of 2)" renew --owner "$owner" b
  wait "$lagging"
  run -0 "$DLOCK" --url "$(url_of 2)" release --owner "$owner" b
}
