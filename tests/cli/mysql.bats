#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: mysql:// keeps the locks in two tables of a MariaDB: one at a time, first come
# first served, and a command never outlives the lock when that server dies, hangs or only reads.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise ticker line databases

setup_file() {
  set_up_file
  start_mariadb
}
setup() {
  set_up
  clean_tables
}
teardown_file() { stop_database; }

@test "sixty at once increment one by one, and neither a lock nor a place is left" {
  count_in_parallel 60 1
  run -0 "$DLOCK" list
  assert_output ""
  [ "$(db 'SELECT count(*) FROM dlock_line')" = 0 ]
}

@test "waiters enter in the order of their arrival, and inspect lists them" {
  hold a
  stand_all a 1 4
  run -0 "$DLOCK" inspect -v a
  assert_line --partial "1st in line"
  assert_line --partial "4th in line"
  run -75 "$DLOCK" run --max-waiters 4 a -- touch "$MARKER"
  let_go
  eventually 20s entered 4
  assert_order 1 2 3 4
  assert_not_started
}

@test "a first waiter that is frozen is passed over, one that was killed as well" {
  hold a
  stand_all a 1 3
  kill -STOP "${WAITERS[1]}"
  kill -KILL "${WAITERS[2]}"
  let_go
  eventually 20s entered 1
  [ "$(order)" = 3 ]
  kill -CONT "${WAITERS[1]}"
  eventually 20s entered 2
  assert_order 3 1
}

@test "killed with its guard, a holder loses the lock when its lease ends" {
  dlock_run a --ttl 2s a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  kill -KILL "$(pgrep -P "$a_pid" -x lease-guard)" "$a_pid"
  run -0 "$DLOCK" run -w 20 a -- true
}

@test "a server that is killed and comes back in time stops no command, and forgets no token (X28)" {
  local before
  dlock_run a --ttl 10s a -- sh -c 'echo "$DLOCK_TOKEN"; until [ -e "$0/go" ]; do sleep 0.02; done; exit 7' "$T"
  eventually 10s file_has "$T/a.out"
  before=$(cat "$T/a.out")
  kill_database
  run_mariadb
  sleep 1
  touch "$T/go"
  ends 10s a "exit 7"
  run -0 --separate-stderr "$DLOCK" run -w 10 a -- sh -c 'echo "$DLOCK_TOKEN"'
  [ "$output" -gt "$before" ] || fail "token $output after $before"
}

@test "a server that stands still for two leases: TERM, 79, and the lock is free when it goes on (X29)" {
  dlock_run a --ttl 2s a -- "$TICKER" "$TICKS" catch 15
  eventually 10s ticking
  signal_database STOP
  sleep 4
  signal_database CONT
  ends 5s a "exit 79"
  grep -q signal-15 "$TICKS" || fail "$(tail -2 "$TICKS")"
  run -0 "$DLOCK" run -w 20 a -- true
}

@test "force-release stops the holder at once; the waiter runs after it" {
  dlock_run a a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  stand a 1
  run -0 "$DLOCK" force-release --yes a
  ends 10s a "exit 79"
  eventually 10s entered 1
}

@test "two names in either order, again and again: all run (X34)" {
  local i
  both_names() { for ((i = 0; i < 15; i++)); do "$DLOCK" run -q -w 60 --and "$2" "$1" -- true || return; done; }
  both_names a b 3>&- &
  STARTED+=($!)
  both_names b a
  wait "${STARTED[-1]}"
  run -0 "$DLOCK" list
  assert_output ""
}

@test "a nested run that outlives its parent keeps the lock until it ends (X38)" {
  dlock_run a a -- bash -c 'setsid "$DLOCK" run a -- sh -c "touch \"\$0/in\"; until [ -e \"\$0/go\" ]; do sleep 0.02; done" \
    "$0" >/dev/null 2>&1 & until [ -e "$0/in" ]; do sleep 0.02; done' "$T"
  ends 10s a "exit 0"
  run -75 "$DLOCK" run -n a -- touch "$MARKER"
  touch "$T/go"
  run -0 "$DLOCK" run -w 10 a -- true
  assert_not_started
}

@test "across steps, nested, several names, slots and readers" {
  eval "$("$DLOCK" acquire a --ttl 1m)"
  run -75 env -u DLOCK_HOLDS "$DLOCK" run -n a -- true
  run -0 "$DLOCK" run -n a -- true
  run -0 "$DLOCK" renew a
  run -0 "$DLOCK" release a
  unset DLOCK_HOLDS DLOCK_OWNER
  run -0 "$DLOCK" run --and b a -- env -u DLOCK_HOLDS "$DLOCK" run -n --and d c -- true
  run -5 "$DLOCK" run --and b a -- env -u DLOCK_HOLDS "$DLOCK" run -n -E 5 b -- true
  run -0 "$DLOCK" run -s r -- env -u DLOCK_HOLDS "$DLOCK" run -n -s r -- true
  run -75 "$DLOCK" run -s r -- env -u DLOCK_HOLDS "$DLOCK" run -n -x r -- true
  run -0 "$DLOCK" run --slots 2 s -- env -u DLOCK_HOLDS "$DLOCK" run -n --slots 2 s -- sh -c 'echo $DLOCK_SLOT'
  assert_output 1
  run -0 "$DLOCK" run --once-per 1h o -- echo ran
  run -0 "$DLOCK" run --once-per 1h o -- echo ran
  refute_output ran
}

@test "many first claims of new names at once: all are granted (X33)" {
  local i pids=() pid
  for ((i = 0; i < 8; i++)); do
    (for ((k = 0; k < 10; k++)); do "$DLOCK" run -q -w 60 "new-$k-$i" -- true || exit; done) 2>>"$T/err" 3>&- &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || fail "$(cat "$T/err")"; done
}

@test "X32: names that the collation of a shared table makes one lock are refused" {
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
