#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: in ShedLock's table, with three columns more or as ShedLock made it, dlock and the real
# ShedLock exclude each other; dlock names the holder, and a clock that is not that of the database.
# clients: shedlock-postgres shedlock-mariadb
# others: only ShedLock keeps its locks in a database
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034  # as in both.bats; tests are subshells

load ../support/suite
suite cli supervise databases
load interop

setup_file() {
  local text jdbc
  set_up_file
  if on_postgres; then
    start_postgres
    text=text jdbc="postgresql://127.0.0.1:$DB_PORT/postgres?user=postgres"
  else
    start_mariadb
    text=mediumtext jdbc="mariadb://127.0.0.1:$DB_PORT/locks?user=ann&password=s3cret"
  fi
  plain_table shedlock
  db "alter table shedlock add column token bigint not null default 0,
    add column version bigint not null default 0, add column state $text not null default ''"
  export DLOCK_URL="$DLOCK_URL&table=shedlock"
  start_client "jdbc:$jdbc"
}
on_postgres() { [ "$INTEROP_CLIENT" = shedlock-postgres ]; }
# plain_table NAME: with the four columns of ShedLock's README.
plain_table() {
  local time="timestamp(3)"
  ! on_postgres || time=timestamp
  db "create table $1 (name varchar(64) not null, lock_until $time not null,
    locked_at $time not null, locked_by varchar(255) not null, primary key (name))"
}
setup() {
  set_up
  N=t$BATS_TEST_NUMBER K=shedlock/$N
}
teardown_file() {
  end_driver "$BATS_FILE_TMPDIR/client"
  stop_database
}
# From here on the test is about a table as ShedLock has it.
use_plain_table() {
  plain_table "plain_$N"
  K=plain_$N/$N
  export DLOCK_URL=${DLOCK_URL/table=shedlock/table=plain_$N}
}

# column EXPRESSION: of the row of $N.
column() { db "select $1 from ${K%/*} where name = '$N'"; }
# When the row says that the lock is free, in microseconds of the clock of the database, in UTC.
lock_end() {
  if on_postgres; then
    column "(extract(epoch from lock_until) * 1000000)::bigint"
  else
    column "timestampdiff(microsecond, '1970-01-01', lock_until)"
  fi
}
# There is no line in a plain table, so dlock's notice tells. It comes after a second.
watched_by() {
  file_has "$T/b.err" waiting ||
    [ "$(db "select count(*) from shedlock_line where name = '$N'" 2>/dev/null)" = "$1" ]
}

# refused STATUS [OPTION…]: dlock runs nothing, and ends with this status; its words are in $T/said.
refused() {
  local status=0
  "$DLOCK" run "${@:2}" "$N" -- touch "$T/was-let-in" 2>"$T/said" || status=$?
  [ ! -e "$T/was-let-in" ]
  [ "$status" = "$1" ] || { echo "$status:" && cat "$T/said" && return 1; }
}
# has FILE TEXT…: each of them, in any case.
has() {
  local text
  for text in "${@:2}"; do
    grep -qiF -- "$text" "$1" || { echo "not said: $text" && cat "$1" && return 1; }
  done
}
token_of_dlock() { "$DLOCK" run -w 20s "$N" -- sh -c 'echo $DLOCK_TOKEN'; }

@test "ShedLock holds: dlock is refused and names it and its host, or waits for its unlock" {
  asked acquired x try "$K" 60000 0
  refused 75 -n
  has "$T/said" ShedLock "$(column locked_by)"
  dlock_waits -w 30s
  run ! entered
  asked released x unlock "$K"
  ends 20s b "exit 0"
  not_before "$(cat "$T/b.began")" "$(time_of x unlock "$K")"
}

@test "ShedLock extends its lock: dlock waits until the new end, and no longer" {
  local end
  asked acquired x try "$K" 2500 0
  dlock_waits -w 30s
  end=$(lock_end)
  asked extended x extend "$K" 2500 0
  [ "$(lock_end)" -gt "$end" ]
  end=$(lock_end)
  ends 20s b "exit 0"
  not_before "$(cat "$T/b.began")" "$end"
  # Its lock is over, and dlock's is not its to release.
  dlock_holds
  asked released x unlock "$K"
  asked refused y try "$K" 1000 0
  let_go
  ends 20s a "exit 0"
}

@test "a frozen lock keeps ShedLock out: a free one at once, a held one after its release" {
  "$DLOCK" freeze --for 1h "$N"
  asked refused x try "$K" 60000 0
  "$DLOCK" unfreeze "$N"
  dlock_holds
  "$DLOCK" freeze --for 3s "$N"
  let_go
  ends 20s a "exit 0"
  asked refused x try "$K" 60000 0
  eventually 20s taken_by_shedlock
  asked released y unlock "$K"
}
taken_by_shedlock() { [ "$(ask y try "$K" 60000 0)" = acquired ]; }

@test "lockAtLeast: dlock waits for its end, though ShedLock has unlocked" {
  asked acquired x try "$K" 60000 1500
  asked released x unlock "$K"
  local end
  end=$(lock_end)
  refused 75 -n
  dlock_waits -w 30s
  ends 20s b "exit 0"
  not_before "$(cat "$T/b.began")" "$end"
}

@test "the fencing tokens of dlock grow across ShedLock's turns" {
  local tokens=() i
  for i in 1 2 3; do
    tokens+=("$(token_of_dlock)")
    asked acquired x try "$K" 60000 0
    asked released x unlock "$K"
  done
  printf '%s\n' "${tokens[@]}"
  [ "${tokens[1]}" -gt "${tokens[0]}" ]
  [ "${tokens[2]}" -gt "${tokens[1]}" ]
}

# adds NAME: adds 4 to the number, each time under the lock.
adds() {
  spawn "$1" bash -c 'for i in {1..4}; do
    "$DLOCK" run -w 60s "$1" -- sh -c "n=\$(cat $0); sleep 0.002; echo \$((n + 1)) >$0" || exit
    done' "$T/number" "$N"
}
@test "two of theirs and two dlocks, over and over: one at a time, all get in" {
  echo 0 >"$T/number"
  tell x add "$K" "$T/number" 20
  tell y add "$K" "$T/number" 20
  adds a
  adds b
  ends 60s a "exit 0"
  ends 60s b "exit 0"
  says 60s x add "$K" "done"
  says 60s y add "$K" "done"
  [ "$(cat "$T/number")" = 48 ]
}

@test "dlock holds: ShedLock is refused across renewals, and gets in after its command" {
  local first i
  dlock_holds --ttl 2s
  [ "$(column locked_by)" = "$(id -un)@$(hostname) pid $a_pid" ]
  first=$(column version)
  for ((i = 0; i < 200; i++)); do
    asked refused x try "$K" 1000 0
    [ "$(column version)" -lt $((first + 3)) ] || break
    sleep 0.05
  done
  [ "$(column version)" -ge $((first + 3)) ]
  let_go
  ends 20s a "exit 0"
  asked acquired x try "$K" 1000 0
  asked released x unlock "$K"
}

@test "ShedLock by its own clock, hours ahead: dlock says so, refused or waiting" {
  asked acquired x try.app "$K" 60000 0
  refused 75 -n
  has "$T/said" ahead "usingDbTime()" "$(column locked_by)"
  asked released x unlock "$K"
  refused 75 -n
  has "$T/said" ahead "usingDbTime()"
  dlock_waits -w 60s
  eventually 20s file_has "$T/b.err" "usingDbTime()"
  has "$T/b.err" waiting ahead
  run ! entered
}

@test "ShedLock by its own clock takes a lock of dlock: its command is stopped, 79" {
  dlock_holds --ttl 2s
  asked acquired x try.app "$K" 60000 0
  ends 10s a "exit 79"
  [ -s "$T/a.ended" ]
  has "$T/a.err" ShedLock "usingDbTime()"
  [ "$(column locked_by)" = "$(hostname)" ] # still theirs
  refused 75 -n
  asked released x unlock "$K"
}

@test "ShedLock's own four columns: ShedLock and dlock keep each other out" {
  use_plain_table
  asked acquired x try "$K" 60000 0
  refused 75 -n
  has "$T/said" ShedLock "$(column locked_by)"
  dlock_waits -w 30s
  run ! entered
  asked released x unlock "$K"
  ends 20s b "exit 0"
  not_before "$(cat "$T/b.began")" "$(time_of x unlock "$K")"
  dlock_holds --ttl 2s
  local end
  end=$(lock_end)
  eventually 10s eval '[ "$(lock_end)" -gt "$end" ]' # renewed
  asked refused x try "$K" 1000 0
  let_go
  ends 20s a "exit 0"
  asked acquired x try "$K" 1000 0
  asked released x unlock "$K"
}

@test "ShedLock's own four columns: two dlocks exclude each other, and tokens grow" {
  use_plain_table
  local first
  first=$(token_of_dlock)
  dlock_holds
  refused 75 -n
  dlock_waits -w 30s
  run ! entered
  let_go
  ends 20s a "exit 0"
  ends 20s b "exit 0"
  not_before "$(cat "$T/b.began")" "$(cat "$T/a.ended")"
  asked acquired x try "$K" 1000 0
  asked released x unlock "$K"
  [ "$(token_of_dlock)" -gt "$first" ]
}

nests() { "$DLOCK" run -w 20s "$N" -- "$DLOCK" run -n "$N" -- touch "$T/nested" 2>"$T/said"; }
@test "ShedLock's own four columns: what they cannot keep is refused, with the ALTER TABLE" {
  use_plain_table
  local option status=0
  nests || status=$?
  [ "$status" = 78 ]
  [ ! -e "$T/nested" ]
  has "$T/said" "alter table plain_$N"
  for option in -s --slots=2; do
    refused 78 "$option" -n
    has "$T/said" "alter table plain_$N"
  done
  asked acquired x try "$K" 60000 0 # nothing is left of them
  db "$(grep -oi 'alter table .*' "$T/said")"
  refused 75 -s -n # it is still theirs
  asked released x unlock "$K"
  nests
  [ -e "$T/nested" ]
  dlock_holds -s
  asked refused x try "$K" 1000 0
  let_go
  ends 20s a "exit 0"
}
