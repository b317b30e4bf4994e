#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: what a PostgreSQL and its replica answer in trouble is taken for what it is worth: a
# replica decides nothing, a promoted one that lost the newest grants ends their holders, the clock
# of the server counts, and no statement outlasts its dlock.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise clocks ticker clock_shim databases

setup_file() {
  set_up_file
  start_postgres
}
setup() {
  set_up
  clean_tables
}
teardown() {
  clean_up
  stop_standby
}
teardown_file() { stop_database; }

# start_standby: a replica of the server, on STANDBY_PORT, that gets nothing any more; it has the
# tables. DLOCK_URL names both.
start_standby() {
  echo 'local replication postgres trust' >>"$DB/data/pg_hba.conf"
  db 'SELECT pg_reload_conf()' >/dev/null
  "$DLOCK" run tables -- true
  rm -rf "$DB/standby"
  (in_database "$POSTGRES_BIN/pg_basebackup" -h "$DB" -p "$DB_PORT" -U postgres -D "$DB/standby" -X stream \
    --checkpoint=fast) || return
  touch "$DB/standby/standby.signal"
  chown "$DB_ACCOUNT" "$DB/standby/standby.signal"
  STANDBY_PORT=$(free_port)
  in_database "$POSTGRES_BIN/postgres" -D "$DB/standby" -c port="$STANDBY_PORT" >>"$DB/standby.log" 2>&1 3>&- &
  STANDBY=$!
  eventually 20s standby 'SELECT 1'
  export DLOCK_URL="postgresql://postgres@127.0.0.1:$DB_PORT,127.0.0.1:$STANDBY_PORT/postgres"
}
standby() { psql -XAtq -h "$DB" -p "$STANDBY_PORT" -U postgres postgres -c "$1" >/dev/null 2>&1; }
stop_standby() {
  [ -n "${STANDBY:-}" ] || return 0
  kill -INT "$STANDBY" 2>/dev/null || true
  wait "$STANDBY" || true
}

@test "after a failover that lost the newest grants their holder ends with 79, and tokens grow" {
  local token
  start_standby
  dlock_run a --ttl 10s a -- sh -c 'echo "$DLOCK_TOKEN"; exec sleep 60' "$T"
  eventually 10s file_has "$T/a.out"
  token=$(cat "$T/a.out")
  kill_database
  standby 'SELECT pg_promote()'
  ends 20s a "exit 79"
  run -0 --separate-stderr "$DLOCK" run -w 20s a -- sh -c 'echo "$DLOCK_TOKEN"'
  [ "$output" -gt "$token" ] || fail "token $output after $token"
  run_postgres
}

@test "a replica that lacks the grant says nothing of it: the lease decides" {
  start_standby
  dlock_run a --ttl 4s a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  kill_database
  ends 20s a "exit 79"
  grep -q 'no renewal' "$T/a.err" || grep -q 'replica' "$T/a.err" || fail "$(cat "$T/a.err")"
  ! grep -q 'lost' "$T/a.err" || fail "$(cat "$T/a.err")"
  run_postgres
}

@test "the clock of the server counts: a host whose clock is an hour ahead takes no lock" {
  needs_dynamic_dlock
  clock ahead real 3600
  hold a
  run -75 with_clocks_of ahead dlock "$DLOCK" run -n a -- touch "$MARKER"
  let_go
  with_clocks_of ahead dlock "$DLOCK" run -n a -- true
  assert_not_started
}

is_locked() { [ "$(db "SELECT count(*) FROM pg_stat_activity WHERE query ~ 'pg_[s]leep'")" != 0 ]; }

# waits_for_locks: how many server processes wait for a row.
waits_for_locks() { db "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"; }

@test "a row that is deleted while a claim waits for it is made again: no two run" {
  "$DLOCK" run a -- true
  (db "BEGIN; SELECT 1 FROM dlock WHERE name = 'a' FOR UPDATE; SELECT pg_sleep(2);
    DELETE FROM dlock WHERE name = 'a'; COMMIT" >/dev/null) 3>&- &
  eventually 10s is_locked
  dlock_run a --ttl 20s a -- sh -c 'touch "$0/in"; until [ -e "$0/go" ]; do sleep 0.02; done' "$T"
  eventually 10s waits_for_locks_are 1
  eventually 10s test -e "$T/in"
  run -75 "$DLOCK" run -n a -- touch "$MARKER"
  touch "$T/go"
  ends 10s a "exit 0"
  [ ! -s "$T/a.err" ] || ! grep -q lost "$T/a.err" || fail "$(cat "$T/a.err")"
  assert_not_started
}

@test "a row that cannot be changed or found is an error: nothing runs" {
  "$DLOCK" run a -- true
  db "CREATE FUNCTION stay() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER stay BEFORE UPDATE ON dlock FOR EACH ROW EXECUTE FUNCTION stay()" >/dev/null
  run -78 --separate-stderr "$DLOCK" run a -- touch "$MARKER"
  assert_stderr_has "the table dlock has the trigger stay"
  db "DROP FUNCTION stay CASCADE" >/dev/null
  db "CREATE TABLE narrow (name varchar(8) PRIMARY KEY, lock_until timestamp NOT NULL,
    locked_at timestamp NOT NULL, locked_by varchar(255) NOT NULL)" >/dev/null
  run -69 --separate-stderr "$DLOCK" --url "$DLOCK_URL&table=narrow" run "12345678 " -- touch "$MARKER"
  assert_stderr_has "is the column name too narrow"
  db "DROP TABLE narrow" >/dev/null
  assert_not_started
}

@test "a row that is made for a lock is not waited for longer than dlock runs" {
  "$DLOCK" run a -- true
  (db "BEGIN; LOCK TABLE dlock IN SHARE MODE; SELECT pg_sleep(30)" >/dev/null) 3>&- &
  local locker=$!
  eventually 10s is_locked
  dlock_run a --ttl 5s new -- touch "$MARKER"
  eventually 10s waits_for_locks_are 1
  kill -KILL "$(pgrep -P "$a_pid" -x lease-guard)" "$a_pid" 2>/dev/null || kill -KILL "$a_pid"
  eventually 10s waits_for_locks_are 0
  db "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ 'pg_[s]leep'" >/dev/null
  wait "$locker" || true
  assert_not_started
}

@test "no statement outlasts its dlock: what it waited for is not waited for any more" {
  "$DLOCK" run a -- true
  (db "BEGIN; SELECT 1 FROM dlock WHERE name = 'a' FOR UPDATE; SELECT pg_sleep(30)" >/dev/null) 3>&- &
  local locker=$!
  eventually 10s is_locked
  dlock_run a --ttl 5s a -- touch "$MARKER"
  eventually 10s waits_for_locks_are 1
  kill -KILL "$(pgrep -P "$a_pid" -x lease-guard)" "$a_pid" 2>/dev/null || kill -KILL "$a_pid"
  eventually 10s waits_for_locks_are 0
  db "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ 'pg_[s]leep'" >/dev/null
  wait "$locker" || true
  assert_not_started
}
waits_for_locks_are() { [ "$(waits_for_locks)" = "$1" ]; }
