#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: mysql://…?with= holds the lock of another program beside the row: GET_LOCK or `select … for
# update`. They keep each other out, and the loss of either half stops the command.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise ticker line store_cases databases peer

setup_file() {
  set_up_file
  start_mariadb
  db "CREATE TABLE jobs (lock_name varchar(64) PRIMARY KEY) ENGINE = InnoDB;
    INSERT INTO jobs VALUES ('a'), ('b'), ('another')"
}
setup() {
  set_up
  clean_tables
}
teardown_file() { stop_database; }

take_word="select get_lock('a', 0)"
row='row:jobs.lock_name'
take_row="start transaction; select 1 from jobs where lock_name = 'a' for update"

@test "GET_LOCK and dlock keep each other out" {
  with get_lock
  both_ways "$take_word" "select release_lock('a')" "select is_used_lock('a') is not null" \
    "GET_LOCK of connection "
}

@test "select for update and dlock keep each other out" {
  with $row
  both_ways "$take_row" rollback \
    "select count(*) = 0 from (select 1 from jobs where lock_name = 'a' for update skip locked) x" \
    "row lock"
}

@test "O03: KILL of the connection of GET_LOCK: TERM in time, 79" {
  with get_lock
  kill_connection() { db "kill $(db "select is_used_lock('a')")"; }
  loses GET_LOCK kill_connection
}

@test "KILL of the connection of the row lock: 79, also of a short lease" {
  with $row
  dlock_run a --ttl 2s a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  eventually 10s kill_transaction
  ends 10s a "exit 79"
  grep -q 'lost "a", whose row lock is gone: ' "$T/a.err" || fail "$(cat "$T/a.err")"
}
# The only one there is: a renewal's is over at once. The server tells anew after 0.1 s without a question.
kill_transaction() {
  local id
  id=$(db 'select trx_mysql_thread_id from information_schema.innodb_trx')
  [[ $id =~ ^[0-9]+$ ]] || { sleep 0.2 && return 1; }
  db "kill $id"
}

@test "a server that is silent for a moment ends no command; one that starts again does" {
  with get_lock
  outlives_silence
  dlock_run b --ttl 1m b -- "$TICKER" "$TICKS"
  eventually 10s ticking
  kill_database
  run_mariadb
  ends 10s b "exit 79"
  run -0 "$DLOCK" run -n b -- true
}

@test "limits of the server for idle connections and transactions do not count" {
  with $row
  db "SET GLOBAL idle_transaction_timeout = 1, GLOBAL wait_timeout = 1"
  run -0 "$DLOCK" run a -- sleep 2.5
  with get_lock
  run -0 "$DLOCK" run a -- sleep 2.5
  db "SET GLOBAL idle_transaction_timeout = 0, GLOBAL wait_timeout = 28800"
}

@test "nested runs, several names, and dlocks in their line" {
  with get_lock
  joins_above "$take_word" "select release_lock('a')"
  one_by_one
}

@test "what is refused, and what has to be made first" {
  with get_lock
  needs_a_process
  run -64 --separate-stderr "$DLOCK" run "$(printf 'ä%.0s' {1..65})" -- touch "$MARKER"
  assert_stderr_has "at most 64 characters"
  run -0 "$DLOCK" run "$(printf 'ä%.0s' {1..64})" -- true
  with $row
  run -78 --separate-stderr "$DLOCK" run "it's" -- touch "$MARKER"
  assert_stderr_has "insert into jobs (lock_name) values ('it''s')"
  with row:jobs.no_column
  run -78 --separate-stderr "$DLOCK" run a -- touch "$MARKER"
  assert_stderr_has "no_column"
  with row:no_table.lock_name
  run -78 --separate-stderr "$DLOCK" run a -- touch "$MARKER"
  assert_stderr_has "no_table"
  db "CREATE TABLE mine (lock_name varchar(64) PRIMARY KEY) ENGINE = MyISAM; INSERT INTO mine VALUES ('a')"
  with row:mine.lock_name
  run -78 --separate-stderr "$DLOCK" run a -- touch "$MARKER"
  assert_stderr_has "alter table mine engine = InnoDB"
  run -0 "$DLOCK" list
  assert_output ""
  run -64 --separate-stderr "$DLOCK" --url "$PLAIN_URL&with=advisory" run a -- touch "$MARKER"
  assert_stderr_has "with= is get_lock or row:TABLE.COLUMN"
  assert_not_started
}
