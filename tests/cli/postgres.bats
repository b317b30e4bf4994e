#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: postgresql:// keeps the locks in two tables of a PostgreSQL: one at a time, first come
# first served, and a command never outlives the lock when that server dies, hangs or only reads.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise ticker line store_cases databases

setup_file() {
  set_up_file
  start_postgres
}
setup() {
  set_up
  clean_tables
}
teardown_file() { stop_database; }
kill_store() { kill_database; }
run_store() { run_postgres; }
signal_store() { signal_database "$1"; }

@test "sixty at once increment one by one, and neither a lock nor a place is left" {
  count_in_parallel 60 1
  run -0 "$DLOCK" list
  assert_output ""
  [ "$(db 'SELECT count(*) FROM dlock_line')" = 0 ]
}

@test "waiters enter in the order of their arrival, and inspect lists them" { waiters_enter_in_order; }
@test "a first waiter that is frozen is passed over, one that was killed as well" { first_waiter_is_passed_over; }
@test "killed with its guard, a holder loses the lock when its lease ends" { killed_with_its_guard; }
@test "a server that is killed and comes back in time stops no command, and forgets no token (X28)" { server_comes_back_in_time; }
@test "a server that stands still for two leases: TERM, 79, and the lock is free when it goes on (X29)" { server_stands_still; }
@test "renew --while ends with the release of its hold, and waits for no renewal" { keeper_ends_with_the_release; }
@test "force-release stops the holder at once; the waiter runs after it" { force_release_stops; }
@test "two names in either order, again and again: all run (X34)" { names_in_either_order; }
@test "a nested run that outlives its parent keeps the lock until it ends (X38)" { nested_run_outlives_its_parent; }
@test "across steps, nested, several names, slots and readers" { all_that_a_lock_can; }

@test "what is refused, and with which status" {
  local at="$DB&port=$DB_PORT"
  run -77 --separate-stderr env DLOCK_PASSWORD=wr0ng "$DLOCK" --url "postgresql://ann@/postgres?host=$at" run a -- touch "$MARKER"
  refute_stderr_has wr0ng
  run -69 "$DLOCK" --url "postgresql://ann@/postgres?host=$T" --connect-timeout 1s run a -- touch "$MARKER"
  run -64 --separate-stderr "$DLOCK" --url "postgresql://ann:s3cret@/postgres?host=$at&colour=red" run a -- touch "$MARKER"
  refute_stderr_has s3cret
  run -64 "$DLOCK" run $'\xff' -- touch "$MARKER"
  run -69 --separate-stderr env DLOCK_PASSWORD=s3cret "$DLOCK" --url "postgresql://reader@/postgres?host=$at" run a -- touch "$MARKER"
  assert_stderr_has "writing is switched off"
  assert_not_started
}

@test "through a pooler of transactions: counted exactly, and a waiter says that it polls" {
  start_pooler
  count_in_parallel 8 5 "$POOLER_URL"
  hold a
  export DLOCK_URL=$POOLER_URL
  stand a 1 -v
  eventually 20s file_has "$T/waiter-1.err" polling || fail "$(cat "$T/waiter-1.err")"
  let_go
  eventually 20s entered 1
  [ "$(grep -c "no LISTEN through the pooler.*polling" "$T/waiter-1.err")" = 1 ] || fail "$(cat "$T/waiter-1.err")"
}

@test "O10: through a pooler of sessions a holder keeps its place: waiters in a full pool do not end it" {
  start_pooler session 2
  export DLOCK_URL=$POOLER_URL
  dlock_run a --ttl 3s a -- sh -c 'touch "$0/in"; sleep 6' "$T"
  eventually 10s test -e "$T/in"
  dlock_run b --ttl 3s -w 20s a -- true
  dlock_run c --ttl 3s -w 20s a -- true
  ends 20s a "exit 0"
}

@test "R38: a password that is changed during a hold is read again from its file: the command goes on" {
  (umask 077; printf 's3cret\n' >"$T/password")
  dlock_run a --url "postgresql://ann@/postgres?host=$DB&port=$DB_PORT" --ttl 2s --password-file "$T/password" a -- \
    sh -c 'touch "$0/in"; sleep 3' "$T"
  eventually 10s test -e "$T/in"
  db "ALTER ROLE ann PASSWORD 'other'"
  printf 'other\n' >"$T/password"
  db "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ann'"
  ends 10s a "exit 0"
  db "ALTER ROLE ann PASSWORD 's3cret'; DROP TABLE dlock, dlock_line"
}

@test "a lock that a newer dlock wrote is refused before anything is changed" {
  newer_row_is_refused
}

@test "a row of another program without an end is listed beside the others, and is held" {
  "$DLOCK" run a -- true
  db "INSERT INTO dlock (name, lock_until, locked_at, locked_by) VALUES ('endless', 'infinity', '-infinity', 'app1')"
  run -0 "$DLOCK" run a -- "$DLOCK" list
  assert_line --regexp '^endless: held by a foreign lock \(ShedLock, app1'
  assert_line --regexp '^a: held by '
  run -75 "$DLOCK" run -n endless -- touch "$MARKER"
  assert_not_started
}

@test "a table with a column more or less is used, or refused with the way to mend it" {
  columns_more_or_less
}

@test "on a database of another encoding any reason is kept in ASCII, and a name that does not fit is 64" {
  db "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
  local url="postgresql://postgres@/latin?host=$DB&port=$DB_PORT"
  run -0 "$DLOCK" --url "$url" run --reason '日本 🚀 é' é -- "$DLOCK" --url "$url" inspect -v é
  assert_output --partial '日本 🚀 é'
  run -64 --separate-stderr "$DLOCK" --url "$url" run 日本 -- touch "$MARKER"
  assert_stderr_has "a name has to fit the encoding of the database"
  assert_not_started
}

@test "the URL alone says where the locks are; postgres:// is the same, and PGPASSWORD the last password" {
  local url="ann@/postgres?host=$DB&port=$DB_PORT"
  export PGHOST=none.invalid PGPORT=1 PGUSER=reader PGDATABASE=none PGPASSWORD=s3cret
  run -5 "$DLOCK" --url "postgres://$url" run -n a -- env -u DLOCK_HOLDS "$DLOCK" --url "postgresql://$url" run -n -E 5 a -- true
  run -77 env DLOCK_PASSWORD=wr0ng "$DLOCK" --url "postgres://$url" run a -- touch "$MARKER"
  run -78 --separate-stderr env PGHOSTADDR=127.0.0.1 "$DLOCK" --url "postgres://$url" run -n a -- touch "$MARKER"
  assert_stderr_has "env -u PGHOSTADDR"
  unset PGHOST PGPORT PGUSER PGDATABASE PGPASSWORD
  assert_not_started
  db 'DROP TABLE dlock, dlock_line'
}

@test "a right that is missing is named with those that are needed" {
  "$DLOCK" run a -- true
  run -77 --separate-stderr env DLOCK_PASSWORD=s3cret "$DLOCK" --url "postgresql://ann@/postgres?host=$DB&port=$DB_PORT" run a -- \
    touch "$MARKER"
  assert_stderr_has "permission denied for table dlock"
  assert_stderr_has "dlock needs select, insert, update and delete on its tables: dlock doctor --ddl"
  run -0 "$DLOCK" doctor --ddl --url "postgresql://ann@/postgres?host=$DB&port=$DB_PORT"
  db "$(sed -n 's/^-- //p' <<<"$output")"
  run -0 env DLOCK_PASSWORD=s3cret "$DLOCK" --url "postgresql://ann@/postgres?host=$DB&port=$DB_PORT" run a -- true
  assert_not_started
}
