#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a server that turns in a hold and pours out whatever it likes costs dlock no more memory
# than another one, and the command has been stopped when its lease ends: 79.
load ../support/suite
suite server cli supervise databases etcd zookeeper

setup_file() {
  clean_environment
}
teardown() {
  clean_up
  stop_redis
  stop_database
  [ -z "${DB:-}" ] || rm -rf "$DB" # of another account than the next one
  stop_etcd
  stop_zookeeper
}

# turns HOST:PORT URL PROTOCOL: each row of HELD in its table.
turns() {
  needs_no_sanitizer "needs more memory and time"
  run -0 python3 "$PROJECT/tests/hostile/play.py" --hold "$@"
}

@test "redis: a holder is stopped in time, whatever its server pours out" {
  local port
  port=$(free_port)
  start_redis --port "$port"
  turns "127.0.0.1:$port" redis://127.0.0.1:PORT redis
}

@test "postgresql: a holder is stopped in time, whatever its server pours out" {
  start_postgres
  turns "127.0.0.1:$DB_PORT" 'postgresql://postgres@127.0.0.1:PORT/postgres?sslmode=disable' postgres
}

@test "mysql: a holder is stopped in time, whatever its server pours out" {
  start_mariadb
  turns "127.0.0.1:$DB_PORT" 'mysql://ann:s3cret@127.0.0.1:PORT/locks?ssl-mode=disabled' mysql
}

@test "etcd: a holder is stopped in time, whatever its server pours out" {
  start_etcd
  turns "${DLOCK_URL#etcd://}" etcd://127.0.0.1:PORT etcd
}

@test "zookeeper: a holder is stopped in time, whatever its server pours out" {
  start_zookeeper
  turns "${DLOCK_URL#zookeeper://}" zookeeper://127.0.0.1:PORT zookeeper
}
