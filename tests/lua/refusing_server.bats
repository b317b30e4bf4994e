#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a server that may not write never gives a verdict, only an error.
load ../support/suite
suite server empty lua

setup_file() {
  set_up_file
  export REPLICA=$BATS_FILE_TMPDIR/replica.sock
}
setup() {
  r config set min-replicas-to-write 0 >/dev/null
  set_up
}
teardown() {
  if [ -n "${REPLICA_PID:-}" ]; then kill -KILL "$REPLICA_PID" 2>/dev/null || true; fi
  if [ -n "${MASTER_PID:-}" ]; then kill -KILL "$MASTER_PID" 2>/dev/null || true; fi
  clean_up
}

# A master on a free loopback port (replication knows no unix sockets) and its replica.
start_pair() {
  local port tries
  MASTER=$BATS_TEST_TMPDIR/master.sock
  for tries in 1 2 3; do # somebody may have taken the port before the server does, which ends then
    port=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
    redis-server --port "$port" --bind 127.0.0.1 --unixsocket "$MASTER" --save '' \
      --repl-diskless-sync-delay 0 --dir "$BATS_TEST_TMPDIR" >/dev/null 2>&1 3>&- &
    MASTER_PID=$!
    eventually 20s master_is_there_or_gone
    [ ! -S "$MASTER" ] || break
    [ "$tries" != 3 ]
  done
  redis-server --port 0 --unixsocket "$REPLICA" --save '' --replicaof 127.0.0.1 "$port" \
    --dir "$BATS_FILE_TMPDIR" >/dev/null 2>&1 3>&- &
  REPLICA_PID=$!
  eventually 20s replica_is_up
}
master_is_there_or_gone() { [ -S "$MASTER" ] || gone "$MASTER_PID"; }
replica_is_up() {
  redis-cli -s "$REPLICA" info replication 2>/dev/null | grep -q 'master_link_status:up'
}

# refuses WORD: acquire, renew and release of a lock that is there, and of one that is not, end in
# an error with WORD.
refuses() {
  local name call
  for name in n free; do
    # shellcheck disable=SC2034  # for lua.bash
    NAMES=("$name")
    for call in "acquire b:2 t" "renew o:1 s" "renew x:9 s" "release o:1 s" "release x:9 s"; do
      [ "$name $call" != "n acquire b:2 t" ] || continue  # busy: anybody may say so
      # shellcheck disable=SC2086
      run $call
      assert_output --partial "$1"
      refute_line --regexp '^(lost|not_held|released|renewed|granted)$'
    done
  done
}

@test "R19: a read-only replica answers renew and release of every caller with an error" {
  start_pair
  export ON=$MASTER
  run -0 acquire o:1 s
  assert_line -n 0 granted
  ON=$REPLICA
  eventually 10s key_is_there
  refuses READONLY
}
key_is_there() { [ "$(redis-cli -s "$REPLICA" exists "$K")" = 1 ]; }

@test "R18: a master without its replicas answers with an error, and changes nothing" {
  run -0 acquire o:1 s
  r config set min-replicas-to-write 1
  before=$(dump_all)
  refuses NOREPLICAS
  assert_equal "$(dump_all)" "$before"
}

@test "R15: a server that is out of memory grants nothing and leaves nothing behind" {
  r config set maxmemory 1
  run acquire o:1 s
  r config set maxmemory 0
  assert_output --partial OOM
  assert_equal "$(r dbsize)" 0
}

@test "R15: a server that is out of memory still renews and releases" {
  run -0 acquire o:1 s
  r config set maxmemory 1
  run renew o:1 s
  r config set maxmemory 0
  assert_line -n 0 renewed
  r config set maxmemory 1
  run release o:1 s
  r config set maxmemory 0
  assert_line -n 0 released
}
