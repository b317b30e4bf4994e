#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock doctor finds what in a database could break the promise, leaves no lock there, and
# prints the statements that make the tables.
# shellcheck disable=SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise doctor

setup_file() {
  set_up_file
  FOLDER=$(mktemp -d /tmp/dlock-sql.XXXXXX)
  export FOLDER
  start_postgres
  start_mariadb
}
setup() {
  set_up
  export DLOCK_URL
}
teardown_file() {
  # An immediate shutdown, with all its processes.
  [ ! -s "$FOLDER/pg/postmaster.pid" ] || kill -QUIT "$(head -n 1 "$FOLDER/pg/postmaster.pid")"
  [ ! -s "$FOLDER/mariadb.pid" ] || kill -KILL "$(cat "$FOLDER/mariadb.pid")"
  # Until then they may write.
  until rm -rf "$FOLDER"; do sleep 0.1; done
}

# as_postgres WORD…: it does not run as root.
as_postgres() {
  local as=()
  [ "$(id -u)" != 0 ] || as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  (cd "$FOLDER" && exec "${as[@]}" "$@")
}
# wait_until COMMAND…: for at most 30 s.
wait_until() {
  local i
  for ((i = 0; i < 300; i++)); do
    ! "$@" &>/dev/null || return 0
    sleep 0.1
  done
  echo "not within 30 s: $*" >&2
  return 1
}

start_postgres() {
  local programs
  programs=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
  installed PostgreSQL "$programs/initdb" postgresql || return 1
  [ "$(id -u)" != 0 ] || chown postgres "$FOLDER"
  chmod 755 "$FOLDER"
  as_postgres "$programs/initdb" -D "$FOLDER/pg" -A trust -U postgres --no-sync --no-locale -E UTF8 >/dev/null
  as_postgres "$programs/postgres" -D "$FOLDER/pg" -k "$FOLDER" -c listen_addresses= \
    -c shared_buffers=8MB -c max_connections=20 &>"$FOLDER/postgres.log" 3>&- &
  wait_until sql "select 1"
  sql "create role ann login; create role bob login"
}
sql() { psql -h "$FOLDER" -U postgres -qAt -c "$1"; }
pg_url() { echo "postgresql://${1:-postgres}@/postgres?host=$FOLDER"; }

start_mariadb() {
  installed MariaDB mariadbd mariadb-server || return 1
  mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$FOLDER/my" --tmpdir="$FOLDER" --skip-test-db \
    --auth-root-authentication-method=normal >/dev/null
  mariadbd --no-defaults --user="$(id -un)" --datadir="$FOLDER/my" --tmpdir="$FOLDER" --socket="$FOLDER/my.sock" \
    --skip-networking --innodb-buffer-pool-size=8M --max-connections=20 &>"$FOLDER/mariadb.log" 3>&- &
  echo $! >"$FOLDER/mariadb.pid"
  wait_until my "create database locks; create user bob@localhost; grant select on locks.* to bob@localhost"
}
my() { mariadb --no-defaults -u root -S "$FOLDER/my.sock" -BN -e "$1"; }
my_url() { echo "mysql://${1:-root}@/locks?socket=$FOLDER/my.sock"; }

@test "PostgreSQL: a good server is good, and no row of the trial is left" {
  DLOCK_URL=$(pg_url)
  sql "drop table if exists dlock, dlock_line"
  run -0 "$DLOCK" doctor --strict -v
  found i tables 'were missing, and were made for the trial'
  found i version 'PostgreSQL 1'
  found i latency 'an answer takes'
  found i trial 'acquire .*, renew .*, inspect .*, release '
  run -0 "$DLOCK" doctor --strict
  found i tables 'dlock and dlock_line are there'
  [ "$(sql 'select (select count(*) from dlock) + (select count(*) from dlock_line)')" = 0 ]
  valid_json 0
  one_identity
  assert_other_identity "$(pg_url)&table=other"
}
# one_identity: there is one, and it stays.
one_identity() {
  local word
  word=$(identity)
  [[ $word =~ ^[0-9a-f]{12}$ ]] || fail "$output"
  assert_equal "$(identity)" "$word"
}
assert_other_identity() { # URL
  [[ $(identity --url "$1") =~ ^[0-9a-f]{12}$ ]]
  [ "$(identity --url "$1")" != "$(identity)" ]
}

@test "PostgreSQL: what a crash would forget is a warning, and a full server" {
  local i
  DLOCK_URL=$(pg_url)
  sql "alter database postgres set synchronous_commit = off"
  run -1 "$DLOCK" doctor --strict
  found W durable 'synchronous_commit is off'
  sql "alter database postgres reset synchronous_commit"
  for ((i = 0; i < 16; i++)); do
    sql "select pg_sleep(20)" &>/dev/null 3>&- &
  done
  wait_until sleeping 16
  run "$DLOCK" doctor
  sql "select pg_terminate_backend(pid) from pg_stat_activity where query like 'select pg_sleep%'" >/dev/null
  wait_until sleeping 0
  found W connections '1[0-9] of 20 connections are in use'
}
sleeping() { [ "$(sql "select count(*) from pg_stat_activity where query like 'select pg_sleep%'")" = "$1" ]; }

@test "PostgreSQL: a user without the right to make or use the tables gets the remedy" {
  sql "drop table if exists dlock, dlock_line"
  sql "revoke create on schema public from public"
  DLOCK_URL=$(pg_url bob)
  run -1 "$DLOCK" doctor
  found E tables 'are missing'
  assert_output --partial "create table if not exists dlock ("
  "$DLOCK" doctor --ddl --url "$(pg_url)" >"$T/ddl"
  psql -h "$FOLDER" -U postgres -q -f "$T/ddl"
  run -1 "$DLOCK" doctor
  found E tables 'are there: .*'
  sql "grant select, insert, update, delete on dlock, dlock_line to bob"
  run -0 "$DLOCK" doctor
  valid_json 0
}

@test "PostgreSQL: a server that only reads, or is not there, is an error" {
  DLOCK_URL=$(pg_url ann)
  sql "alter role ann set default_transaction_read_only = on"
  run -1 "$DLOCK" doctor
  found E connect 'writing is switched off'
  DLOCK_URL="postgresql://ann@/postgres?host=$T"
  run -1 "$DLOCK" doctor
  found E connect 'not'
  valid_json 1
}

@test "MariaDB: a good server is good, and no row of the trial is left" {
  DLOCK_URL=$(my_url)
  run -0 "$DLOCK" doctor --strict -v
  found i tables 'were missing, and were made for the trial'
  found i version 'MariaDB 1'
  found i latency 'an answer takes'
  [ "$(my 'select (select count(*) from locks.dlock) + (select count(*) from locks.dlock_line)')" = 0 ]
  valid_json 0
  one_identity
  assert_other_identity "$(my_url)&table=other"
}

@test "MariaDB: a table that another program made: its engine, its collation and its times" {
  DLOCK_URL="$(my_url)&table=theirs"
  my "create table locks.theirs (name varchar(64) primary key, lock_until timestamp(3) not null, locked_at
    timestamp(3) not null default current_timestamp(3), locked_by varchar(255) not null) engine = MyISAM
    default charset utf8mb4"
  run -1 "$DLOCK" doctor
  found E engine 'the engine of theirs is MyISAM'
  my "alter table locks.theirs engine = InnoDB"
  run -0 "$DLOCK" doctor -v
  found '\+' engine 'the engine of theirs is InnoDB'
  found W collation 'the collation of theirs.name is utf8mb4_' # general_ci; since MariaDB 11 uca1400_ai_ci
  found '\+' timezone 'lock_until is a timestamp, and time_zone is '
  my "set global time_zone = '+02:00'"
  run -0 "$DLOCK" doctor -v
  found '\+' timezone 'lock_until is a timestamp, and time_zone is \+02:00'
  my "set global time_zone = SYSTEM; drop table locks.theirs"
}

@test "MariaDB: settings and rights that do not fit" {
  DLOCK_URL=$(my_url)
  my "set global innodb_flush_log_at_trx_commit = 2"
  run -1 "$DLOCK" doctor --strict
  found W durable 'innodb_flush_log_at_trx_commit is 2'
  my "set global innodb_flush_log_at_trx_commit = 1; set global read_only = 1"
  run -1 "$DLOCK" doctor
  found E writable 'read_only is '
  my "set global read_only = 0; drop table if exists locks.dlock, locks.dlock_line"
  DLOCK_URL=$(my_url bob)
  run -1 "$DLOCK" doctor
  found E tables 'are missing'
  "$DLOCK" doctor --ddl >"$T/ddl"
  mariadb --no-defaults -u root -S "$FOLDER/my.sock" locks <"$T/ddl"
  run -1 "$DLOCK" doctor
  found E tables 'are there'
}

@test "--ddl prints statements for the table of the URL, and connects to nothing" {
  local url
  for url in "postgresql://none.invalid/db?table=app.locks" "mysql://none.invalid/db?table=app_locks"; do
    run -0 --separate-stderr "$DLOCK" doctor --ddl --url "$url"
    assert_line --index 0 --regexp '^create table if not exists app.locks \(.*;$'
    assert_line --index 1 --regexp '^create table if not exists app.locks_line \(.*;$'
  done
  for url in redis://none.invalid "local://$T" "sqlite://$T/x"; do
    DLOCK_URL=$url run -64 "$DLOCK" doctor --ddl
    assert_output --partial "--ddl: only"
  done
}

# ends_in_trial [COMMAND…]: TERM ends doctor where its trial has to wait, also after COMMAND.
ends_in_trial() {
  spawn doctor "$DLOCK" doctor --connect-timeout 9s
  wait_until in_trial
  "${@:-true}"
  kill "$doctor_pid"
  ends 4s doctor "signal 15" # without it the trial has nine seconds
}
in_trial() { grep -q '^SigBlk:.*[1-9a-f]' "/proc/$doctor_pid/status"; }

@test "PostgreSQL: TERM ends doctor while its trial waits" {
  DLOCK_URL=$(pg_url)
  run -0 "$DLOCK" doctor # makes the tables
  sql "begin; lock table dlock in exclusive mode; select pg_sleep(20)" &>/dev/null 3>&- &
  wait_until table_locked
  ends_in_trial
  ends_in_trial signal_postgres STOP || { signal_postgres CONT; return 1; }
  signal_postgres CONT
  sql "select pg_terminate_backend(pid) from pg_locks where relation = 'dlock'::regclass" >/dev/null
}
signal_postgres() {
  local server
  server=$(head -n 1 "$FOLDER/pg/postmaster.pid")
  # shellcheck disable=SC2046  # words
  kill "-$1" "$server" $(cat "/proc/$server/task"/*/children)
}
table_locked() {
  [ "$(sql "select count(*) from pg_locks where relation = 'dlock'::regclass and mode = 'ExclusiveLock'")" = 1 ]
}

@test "MariaDB: TERM ends doctor while its trial waits" {
  DLOCK_URL=$(my_url)
  run -0 "$DLOCK" doctor
  my "lock tables locks.dlock read; select sleep(20)" &>/dev/null 3>&- &
  wait_until my_sleeps
  ends_in_trial
  my "$(my "select concat('kill ', id) from information_schema.processlist where info like 'select sleep(20)%'")"
}
my_sleeps() { my "show processlist" | grep -q 'select sleep(20)'; }

@test "SQLite: TERM ends doctor while its trial waits" {
  DLOCK_URL=sqlite://$T/locks.db
  run -0 "$DLOCK" run a true
  python3 -c 'import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("begin immediate")
open(sys.argv[2], "w").close()
time.sleep(20)' "$T/locks.db" "$T/begun" 3>&- &
  STARTED+=($!)
  wait_until test -e "$T/begun"
  ends_in_trial
}
