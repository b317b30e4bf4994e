#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: mysql:// keeps the locks in two tables of a MariaDB: one at a time, first come
# first served, and a command never outlives the lock when that server dies, hangs or only reads.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise ticker line store_cases pool supersede databases

setup_file() {
  set_up_file
  start_mariadb
}
setup() {
  set_up
  clean_tables
}
teardown_file() { stop_database; }
kill_store() { kill_database; }
run_store() { run_mariadb; }
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
@test "a server that is killed and comes back in time stops no command, and forgets no token" { server_comes_back_in_time; }
@test "a server that stands still for two leases: TERM, 79, and the lock is free when it goes on" { server_stands_still; }
@test "force-release stops the holder at once; the waiter runs after it" { force_release_stops; }
@test "two names in either order, again and again: all run" { names_in_either_order; }
@test "one of three names is held, and a waiter gets the first that is free" { one_of_several; }
@test "a nested run that outlives its parent keeps the lock until it ends" { nested_run_outlives_its_parent; }
@test "across steps, nested, several names, slots and readers" { all_that_a_lock_can; }

@test "many first claims of new names at once: all are granted" {
  local i pids=() pid
  for ((i = 0; i < 8; i++)); do
    (for ((k = 0; k < 10; k++)); do "$DLOCK" run -q -w 60 "new-$k-$i" -- true || exit; done) 2>>"$T/err" 3>&- &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || fail "$(cat "$T/err")"; done
}

@test "names that the collation of a shared table makes one lock are refused" {
  db 'CREATE TABLE shedlock (name varchar(64) PRIMARY KEY, lock_until timestamp(3) NOT NULL, locked_at
    timestamp(3) NOT NULL DEFAULT current_timestamp(3), locked_by varchar(255) NOT NULL) DEFAULT CHARSET utf8mb4'
  run -0 "$DLOCK" --url "$DLOCK_URL&table=shedlock" run Job -- true
  run -78 --separate-stderr "$DLOCK" --url "$DLOCK_URL&table=shedlock" run JOB -- touch "$MARKER"
  assert_stderr_has 'the collation of shedlock.name makes it one with "Job"'
  run -64 --separate-stderr "$DLOCK" --url "$DLOCK_URL&table=shedlock" run "$(printf '%070d' 1)" -- touch "$MARKER"
  assert_stderr_has "Data too long for column 'name'"
  [ "$(db 'SELECT count(*) FROM shedlock')" = 1 ]
  assert_not_started
  db 'DROP TABLE shedlock'
  run -0 "$DLOCK" run Job -- "$DLOCK" run JOB -- true
}

@test "a table of another engine than InnoDB is refused: it excludes nobody" {
  db 'CREATE TABLE mine (name varchar(64) PRIMARY KEY, lock_until timestamp(3) NOT NULL, locked_at
    timestamp(3) NOT NULL DEFAULT current_timestamp(3), locked_by varchar(255) NOT NULL) ENGINE = MyISAM'
  run -78 --separate-stderr "$DLOCK" --url "$DLOCK_URL&table=mine" run a -- touch "$MARKER"
  assert_stderr_has "alter table mine engine = InnoDB"
  db 'ALTER TABLE mine ENGINE = InnoDB'
  run -0 "$DLOCK" --url "$DLOCK_URL&table=mine" run a -- true
  db 'DROP TABLE mine; SET GLOBAL enforce_storage_engine = Aria'
  run -69 "$DLOCK" run a -- touch "$MARKER"
  db 'SET GLOBAL enforce_storage_engine = NULL'
  run -0 "$DLOCK" run a -- true
  assert_not_started
}

@test "a table with a trigger is refused, before the trigger runs" {
  db 'CREATE TABLE ran (who text)'
  "$DLOCK" run a -- true
  db "CREATE TRIGGER tells BEFORE UPDATE ON dlock FOR EACH ROW INSERT INTO ran VALUES (current_user())"
  run -78 --separate-stderr "$DLOCK" run a -- touch "$MARKER"
  assert_stderr_has "the table dlock has the trigger tells, which could change a lock: drop trigger tells"
  run -1 "$DLOCK" doctor
  assert_output --partial "the table dlock has the trigger tells"
  [ -z "$(db 'SELECT * FROM ran')" ]
  db 'DROP TRIGGER tells; CREATE TRIGGER tells AFTER INSERT ON dlock_line FOR EACH ROW INSERT INTO ran VALUES (1)'
  hold b
  run -78 --separate-stderr "$DLOCK" run -w 5s b -- touch "$MARKER"
  assert_stderr_has "the table dlock_line has the trigger tells"
  [ -z "$(db 'SELECT * FROM ran')" ]
  let_go
  db 'DROP TRIGGER tells; DROP TABLE ran'
  run -0 "$DLOCK" run a -- true
  assert_not_started
}

@test "a claim that comes while the release waits for the row gets its turn" {
  release_meets_a_waiter \
    "SELECT count(*) FROM information_schema.processlist
      WHERE id <> connection_id() AND info LIKE '%dlock%for update'"
}

@test "a row that another program has taken since is not released" { foreign_row_stays; }

@test "what is refused, and with which status" {
  local at="socket=$DB/socket"
  run -77 --separate-stderr env DLOCK_PASSWORD=wr0ng "$DLOCK" --url "mysql://ann@/locks?$at" run a -- touch "$MARKER"
  refute_stderr_has wr0ng
  run -69 "$DLOCK" --url "mysql://ann@/locks?socket=$T/none" --connect-timeout 1s run a -- touch "$MARKER"
  run -64 --separate-stderr "$DLOCK" --url "mysql://ann:s3cret@/locks?$at&colour=red" run a -- touch "$MARKER"
  refute_stderr_has s3cret
  run -64 "$DLOCK" run $'\xff' -- touch "$MARKER"
  db 'SET GLOBAL read_only = 1'
  run -69 --separate-stderr env DLOCK_PASSWORD=s3cret "$DLOCK" --url "mysql://ann@/locks?$at" run a -- touch "$MARKER"
  assert_stderr_has "--read-only"
  db 'SET GLOBAL read_only = 0'
  assert_not_started
}

# bats test_tags=nightly
@test "the rights of the page suffice, and each is needed by a command" {
  "$DLOCK" run a -- true
  db "CREATE USER IF NOT EXISTS bob@localhost"
  USER_URL="mysql://bob@/locks?socket=$DB/socket" no_row_right_too_many bob@localhost
}

@test "R38: a password that is changed during a hold is read again from its file: the command goes on" {
  (umask 077; printf 's3cret\n' >"$T/password")
  dlock_run a --url "mysql://ann@/locks?socket=$DB/socket" --ttl 2s --password-file "$T/password" a -- \
    sh -c 'touch "$0/in"; sleep 3' "$T"
  eventually 10s test -e "$T/in"
  db "ALTER USER ann@localhost IDENTIFIED BY 'other'"
  printf 'other\n' >"$T/password"
  db "KILL USER ann@localhost"
  ends 10s a "exit 0"
  db "ALTER USER ann@localhost IDENTIFIED BY 's3cret'"
}

@test "the last run: who, when, how it ended" {
  tells_the_last_run
}

@test "freeze, unfreeze: free and held locks, refusals, list and inspect" {
  freezes
}

@test "supersede: the newest run wins; a holder that said so is revoked" {
  supersedes
  supersedes_the_holder
}

@test "a lock that a newer dlock wrote is refused before anything is changed" {
  newer_row_is_refused
}

@test "a table with a column more or less is used, or refused with the way to mend it" {
  columns_more_or_less
}

@test "in a table of another character set any reason is kept in ASCII, and a name that does not fit is 64" {
  local url="$DLOCK_URL&table=shedlock"
  db "CREATE TABLE shedlock (name varchar(64) PRIMARY KEY, lock_until timestamp(3) NOT NULL, locked_at
    timestamp(3) NOT NULL DEFAULT current_timestamp(3), locked_by varchar(255) NOT NULL, token bigint NOT NULL
    DEFAULT 0, version bigint NOT NULL DEFAULT 0, state mediumtext NOT NULL DEFAULT ('')) DEFAULT CHARSET utf8mb3"
  run -0 "$DLOCK" --url "$url" run --reason '日本 🚀 é' 日本 -- "$DLOCK" --url "$url" inspect -v 日本
  assert_output --partial '日本 🚀 é'
  run -64 --separate-stderr "$DLOCK" --url "$url" run 🚀 -- touch "$MARKER"
  assert_stderr_has "a name has to fit the character set of the column"
  db 'DROP TABLE shedlock, shedlock_line'
  assert_not_started
}

@test "list shows a thousand locks and more: it reads them in pages" {
  hold a --ttl 60s
  db "INSERT INTO dlock (name, lock_until, locked_at, locked_by, token, version, state) SELECT CONCAT('n', seq),
    lock_until, locked_at, locked_by, token, version,
    REPLACE(state, '\"name\":\"a\"', CONCAT('\"name\":\"n', seq, '\"')) FROM dlock, seq_1_to_1100 WHERE name = 'a'"
  run -0 "$DLOCK" list 'n*'
  [ "$(grep -cE '^n[0-9]+: held' <<<"$output")" = 1100 ] || fail "$output"
  let_go
}
