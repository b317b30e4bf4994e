#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock and a program that knows only ShedLock's four columns share a table: each waits for
# the other, tokens grow, a clock that is ahead is named, and what four columns cannot keep is refused.
# The program is played by psql here; ./dev interop has the real one.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise store_cases databases refused

setup_file() {
  set_up_file
  start_postgres
  DLOCK_URL+='&table=shedlock'
}
setup() {
  set_up
  db 'DROP TABLE IF EXISTS shedlock, shedlock_line;
    CREATE TABLE shedlock (name varchar(64) PRIMARY KEY, lock_until timestamp NOT NULL,
      locked_at timestamp NOT NULL, locked_by varchar(255) NOT NULL)' >/dev/null 2>&1
}
teardown_file() { stop_database; }

widen() {
  db "ALTER TABLE shedlock ADD COLUMN token bigint NOT NULL DEFAULT 0, ADD COLUMN version bigint NOT
    NULL DEFAULT 0, ADD COLUMN state text NOT NULL DEFAULT ''" >/dev/null
}

# shedlock_takes NAME SECONDS [HOURS]: by a clock that is HOURS ahead; prints app1, unless refused.
shedlock_takes() {
  local now="timezone('utc', now()) + interval '${3:-0} hours'"
  db "INSERT INTO shedlock (name, lock_until, locked_at, locked_by)
    VALUES ('$1', $now + interval '$2 seconds', $now, 'app1')
    ON CONFLICT (name) DO UPDATE SET lock_until = excluded.lock_until, locked_at = excluded.locked_at,
      locked_by = 'app1' WHERE shedlock.lock_until <= $now RETURNING locked_by"
}
shedlock_unlocks() {
  db "UPDATE shedlock SET lock_until = timezone('utc', now()) WHERE name = '$1' AND locked_by = 'app1'"
}

# holds_long NAME ARG…: `ends TIME NAME` waits for its end.
holds_long() {
  dlock_run "$1" "${@:2}" "$1" -- sh -c 'touch "$0/in"; exec sleep 60' "$T"
  eventually 10s test -e "$T/in"
}

# each_way NAME: both exclude each other; DLOCK_TOKEN grows across the turns of the other.
each_way() {
  local first second
  first=$("$DLOCK" run "$1" -- sh -c 'echo "$DLOCK_TOKEN"')
  assert_equal "$(shedlock_takes "$1" 60)" app1
  refused 75 run -n "$1" -- touch "$MARKER"
  assert_stderr_has 'held by a foreign lock (ShedLock, app1), lease '
  run -0 "$DLOCK" inspect --json "$1"
  assert_output --regexp '"state": *"foreign"'
  run -0 "$DLOCK" list
  assert_output --partial "$1: held by a foreign lock (ShedLock, app1)"
  (sleep 0.5 && shedlock_unlocks "$1") >/dev/null 3>&- &
  second=$("$DLOCK" run -w 20s "$1" -- sh -c 'echo "$DLOCK_TOKEN"')
  [ "$second" -gt "$first" ]
  hold "$1"
  assert_equal "$(shedlock_takes "$1" 60)" ""
  refused 75 run -n "$1" -- touch "$MARKER"
  [[ $(db "SELECT locked_by FROM shedlock WHERE name = '$1'") == *@*" pid "* ]]
  let_go
  assert_equal "$(shedlock_takes "$1" 0)" app1
  run -0 "$DLOCK" list
  assert_output ""
}

@test "seven columns: each waits for the other, and every mode does" {
  widen
  each_way a
  shedlock_takes b 60
  refused 75 run -n -s b -- touch "$MARKER"
  refused 75 run -n --slots 2 b -- touch "$MARKER"
  shedlock_unlocks b
  run -0 "$DLOCK" run -s b -- "$DLOCK" run -s b -- true
}

@test "four columns keep a plain lock, and the statement that adds the rest is said" {
  each_way a
  run -0 "$DLOCK" run --min-hold 1ms --and c a -- true
  local words
  for words in "-s b" "-x b" "--slots 2 b" "--once-per 1h b"; do
    # shellcheck disable=SC2086  # words
    refused 78 run $words -- touch "$MARKER"
    assert_stderr_has 'alter table shedlock add column token'
  done
  refused 78 freeze --for 1h b
  assert_stderr_has 'not frozen'
  run -78 --separate-stderr "$DLOCK" run b -- "$DLOCK" run b -- touch "$MARKER"
  assert_stderr_has 'alter table shedlock'
  assert_not_started
  holds_long a --ttl 3s
  refused 78 force-release --yes a
  run -0 "$DLOCK" force-release --yes --now a
  ends 20s a "exit 79"
}

@test "four columns: a shorter lease than the column's seconds is not cut, and tokens never go back" {
  local first second
  db 'DROP TABLE shedlock; CREATE TABLE shedlock (name varchar(64) PRIMARY KEY, lock_until timestamp(0) NOT NULL,
    locked_at timestamp(0) NOT NULL, locked_by varchar(255) NOT NULL)' >/dev/null
  # The token is the time of the grant in microseconds.
  run -0 "$DLOCK" run --ttl 2s a -- sh -c 'psql -XAtq -h "$1" -p "$2" -U postgres postgres -c "SELECT lock_until >=
    timezone(\$\$utc\$\$, to_timestamp($DLOCK_TOKEN / 1000000.0)) + interval \$\$2 seconds\$\$ FROM shedlock"' - "$DB" "$DB_PORT"
  assert_output t
  first=0
  for _ in 1 2 3 4 5; do
    second=$("$DLOCK" run a -- sh -c 'echo "$DLOCK_TOKEN"')
    [ "$second" -gt "$first" ] || fail "token $second after $first"
    first=$second
  done
  db 'ALTER TABLE shedlock ALTER locked_at TYPE timestamp' >/dev/null
  shedlock_takes a 0 8
  db "UPDATE shedlock SET lock_until = timezone('utc', now())"
  first=$("$DLOCK" run a -- sh -c 'echo "$DLOCK_TOKEN"')
  shedlock_takes a 0
  second=$("$DLOCK" run a -- sh -c 'echo "$DLOCK_TOKEN"')
  [ "$second" -gt "$first" ]
}

@test "columns that mean another time to each session, and names that do not fit, are refused" {
  refused 64 run "$(printf '%070d' 1)" -- touch "$MARKER"
  db 'ALTER TABLE shedlock ALTER lock_until TYPE timestamptz' >/dev/null
  refused 78 run a -- touch "$MARKER"
  assert_stderr_has 'lock_until is a timestamp with time zone'
}

@test "a task that runs is seen before any dlock has made the table of lines" {
  widen
  shedlock_takes a 60
  run -0 "$DLOCK" inspect a
  assert_output --partial 'held by a foreign lock (ShedLock, app1)'
  run -75 "$DLOCK" wait -w 0.2 a
}

@test "the time zone of this machine changes no time, also one with leap seconds" {
  echo 'Leap 2016 Dec 31 23:59:60 + S' >"$BATS_TEST_TMPDIR/leaps"
  PATH=$PATH:/usr/sbin zic -L "$BATS_TEST_TMPDIR/leaps" -d "$BATS_TEST_TMPDIR" - <<<'Zone Leaping 0 - UTC'
  [ "$(TZ=$BATS_TEST_TMPDIR/Leaping date -d @1700000000 +%S)" != "$(TZ=UTC date -d @1700000000 +%S)" ]
  TZ=$BATS_TEST_TMPDIR/Leaping holds_long a --ttl 20s
  refused 75 run -n a -- touch "$MARKER"
  assert_equal "$(shedlock_takes a 60)" ""
}

@test "doctor names the four columns, and leaves no row" {
  run -0 "$DLOCK" doctor -v
  assert_output --partial 'shedlock is there with the four columns of ShedLock'
  [ "$(db 'SELECT count(*) FROM shedlock')" = 0 ]
  widen
  run -0 "$DLOCK" doctor -v
  assert_output --partial 'shedlock_line was missing, and was made for the trial'
}

@test "waiters on four columns enter one by one" {
  count_in_parallel 8 3
}

@test "a program whose clock is ahead is named, and what it takes from dlock is lost" {
  widen
  holds_long a --ttl 3s
  assert_equal "$(shedlock_takes a 60 8)" app1
  ends 20s a "exit 79"
  refused 75 run -n a -- touch "$MARKER"
  assert_stderr_has "its clock is 8h ahead of the server's: does it use usingDbTime()?"
  run -0 "$DLOCK" inspect --json a
  assert_output --partial '"doubt": "its clock is 8h ahead'
}

@test "a foreign lock is not revoked, only ended with --now" {
  widen
  shedlock_takes a 60
  run "$DLOCK" force-release --yes a
  [ "$status" != 0 ]
  refused 75 run -n a -- touch "$MARKER"
  run -0 "$DLOCK" force-release --yes --now a
  run -0 "$DLOCK" run -n a -- true
}
