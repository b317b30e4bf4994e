#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: postgresql://…?with= holds the lock of another program beside the row: `select … for
# update` or an advisory lock. They keep each other out, and the loss of either half stops the command.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise ticker line store_cases pool databases peer

setup_file() {
  set_up_file
  start_postgres
  db "CREATE TABLE jobs (lock_name text PRIMARY KEY); INSERT INTO jobs VALUES ('a'), ('b'), ('another')"
}
setup() {
  set_up
  clean_tables
}
teardown_file() { stop_database; }

row='row:jobs.lock_name'
take_row="begin; select 1 from jobs where lock_name = 'a' for update"
take_advisory="select pg_advisory_lock(hashtextextended('a', 0))"

@test "select for update and dlock keep each other out" {
  with $row
  both_ways "$take_row" rollback \
    "select count(*) = 0 from (select 1 from jobs where lock_name = 'a' for update skip locked) x" \
    "row lock of connection "
}

@test "an advisory lock and dlock keep each other out, also through a pooler of transactions" {
  with advisory
  both_ways "$take_advisory" "select pg_advisory_unlock(hashtextextended('a', 0))" \
    "select not pg_try_advisory_xact_lock(hashtextextended('a', 0))" "advisory lock of connection "
  start_pooler
  dlock_run p --ttl 2s -k 200ms --url "$POOLER_URL&with=advisory" a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  sleep 2.5
  alive "$p_pid"
  [ "$(db "select pg_try_advisory_xact_lock(hashtextextended('a', 0))")" = f ]
  # It does not keep VACUUM from its work.
  [ "$(db "select count(*), count(backend_xmin), count(backend_xid) from pg_stat_activity
    where state = 'idle in transaction' and pid in (select pid from pg_locks where locktype = 'advisory')")" = '1|0|0' ]
}

@test "an advisory lock of one number is one for all names" {
  with advisory:-7
  start_peer
  peer "select pg_advisory_lock(-7)"
  run -75 --separate-stderr "$DLOCK" run -n b -- touch "$MARKER"
  assert_stderr_has "advisory lock of connection $(db "select pid from pg_locks where locktype = 'advisory'")"
  peer "select pg_advisory_unlock(-7)"
  hold a
  run -75 --separate-stderr "$DLOCK" run -n b -- touch "$MARKER"
  let_go
  run -64 "$DLOCK" run --and b a -- touch "$MARKER"
  refuses_one_of ": it cannot choose one in a single step"
  assert_not_started
}

@test "the server ends the connection of the row lock: TERM in time, 79" {
  with $row
  loses "row lock" \
    db "select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction'"
}

@test "the server ends the connection of the advisory lock: 79, also of a short lease" {
  with advisory
  dlock_run a --ttl 2s a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  db "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'"
  ends 10s a "exit 79"
  grep -q 'lost "a", whose advisory lock is gone: ' "$T/a.err" || fail "$(cat "$T/a.err")"
}

@test "a server that is silent for a moment ends no command; one that starts again does" {
  with advisory
  outlives_silence
  dlock_run b --ttl 1m b -- "$TICKER" "$TICKS"
  eventually 10s ticking
  kill_database
  run_postgres
  ends 10s b "exit 79"
  run -0 "$DLOCK" run -n b -- true
}

@test "limits of the server for idle transactions do not count" {
  with $row
  db "ALTER DATABASE postgres SET idle_in_transaction_session_timeout = '500ms'"
  run -0 "$DLOCK" run a -- sleep 2
  db "ALTER DATABASE postgres RESET ALL"
}

@test "nested runs, several names, and dlocks in their line" {
  with $row
  joins_above "$take_row" rollback
  one_by_one
}

@test "what is refused, and what has to be made first" {
  with $row
  needs_a_process
  run -78 --separate-stderr "$DLOCK" run "it's" -- touch "$MARKER"
  assert_stderr_has "insert into jobs (lock_name) values ('it''s')"
  with row:jobs.no_column
  run -78 --separate-stderr "$DLOCK" run a -- touch "$MARKER"
  assert_stderr_has "no_column"
  with row:no_table.lock_name
  run -78 --separate-stderr "$DLOCK" run a -- touch "$MARKER"
  assert_stderr_has "no_table"
  run -0 "$DLOCK" list
  assert_output ""
  run -64 --separate-stderr "$DLOCK" --url "$PLAIN_URL&with=get_lock" run a -- touch "$MARKER"
  assert_stderr_has "with= is row:TABLE.COLUMN, advisory or advisory:NUMBER"
  assert_not_started
}
