#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: in MariaDB a waiter sleeps in the server until the one before it has gone, and
# polls where that cannot work.
# Every test is a shell of its own.
# shellcheck disable=SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise line databases

setup_file() {
  set_up_file
  start_mariadb
}
setup() {
  set_up
  clean_tables
  "$DLOCK" run any -- true # makes the tables
  new_line
}
teardown() {
  end_line
  clean_up
}
teardown_file() { stop_database; }

in_line() { db "SELECT count(*) FROM dlock_line WHERE name = '$1'"; }
# asleep COUNT: succeeds if so many sessions wait for a bell in the server.
asleep() {
  [ "$(db "SELECT count(*) FROM information_schema.processlist WHERE state = 'User lock'")" = "$1" ]
}
# Succeeds if no session waits for a bell at any of twenty looks.
nobody_asleep() {
  local i
  for ((i = 0; i < 20; i++)); do asleep 0 || return; sleep 0.05; done
}
questions() { db "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'QUESTIONS'"; }
wait_for_all() {
  local pid
  for pid in "${WAITERS[@]}"; do wait "$pid" || fail "$pid: $?"; done
  WAITERS=()
}

@test "every waiter sleeps in the server, and each end wakes the next" {
  hold a
  stand_all a 0 4
  eventually 10s asleep 5
  let_go
  wait_for_all
  assert_order 0 1 2 3 4
}

@test "the end of a wait brings the row with it: no look is sent between" {
  hold a
  stand a 0
  eventually 10s asleep 1
  db "SET GLOBAL log_output = 'TABLE'; TRUNCATE mysql.general_log; SET GLOBAL general_log = 1"
  let_go
  wait_for_all
  db "SET GLOBAL general_log = 0"
  local looks="FROM mysql.general_log WHERE argument LIKE '%start transaction read only%'"
  run -0 db "SELECT count(*) $looks AND argument NOT LIKE '%select get_lock%'"
  [ "$output" = 0 ] || fail "$(db "SELECT event_time, argument FROM mysql.general_log")"
}

@test "a waiter that leaves wakes the one behind it, which goes on to sleep" {
  hold a
  stand_all a 0 2
  eventually 10s asleep 3
  kill -TERM "${WAITERS[1]}"
  wait "${WAITERS[1]}" || [ $? = 143 ]
  unset 'WAITERS[1]'
  eventually 10s asleep 2
  let_go
  wait_for_all
  assert_order 0 2
}

@test "readers before a writer: it sleeps until the last has gone, and all readers enter at once" {
  hold a
  stand a 0 --shared
  stand a 1 --shared
  stand a 2
  eventually 10s asleep 3
  let_go
  wait_for_all
  [[ "$(order)" = ?\ ?\ 2 ]] || fail "in this order: $(order)"
}

@test "a hold without a bell, as of acquire: the first waiter polls, the second sleeps" {
  (
    eval "$("$DLOCK" acquire --ttl 60s a)"
    eventually 60s test -e "$T/go"
    "$DLOCK" release a
  ) 3>&- &
  local step=$!
  OTHER_PIDS="${OTHER_PIDS:-} $step"
  eventually 10s "$DLOCK" inspect -q a
  stand_all a 0 1
  eventually 10s asleep 1
  local before after
  before=$(questions) && sleep 1 && after=$(questions)
  # 20 polls and 3 looks a second, of some statements each.
  [ $((after - before)) -lt 600 ] || fail "$((after - before)) statements in a second"
  touch "$T/go"
  wait "$step"
  wait_for_all
  assert_order 0 1
}

@test "force-release --now lets the first waiter in, although no bell rings" {
  hold a
  stand a 0
  eventually 10s asleep 1
  run -0 "$DLOCK" force-release --now --yes a
  wait_for_all
  wait "$HOLDER" || [ $? = 79 ]
}

# behind MODE: sets DLOCK_URL to a my_proxy.py.
behind() {
  python3 -S "$PROGRAMS/my_proxy.py" "$DB_PORT" "$1" >"$T/port-$1" 2>"$T/proxy.err" 3>&- &
  OTHER_PIDS="${OTHER_PIDS:-} $!"
  eventually 10s test -s "$T/port-$1" || fail "$(cat "$T/proxy.err")"
  export DLOCK_URL
  DLOCK_URL="mysql://ann:s3cret@127.0.0.1:$(cat "$T/port-$1")/locks?ssl-mode=disabled"
}

@test "behind a proxy that shares connections, and where GET_LOCK is refused, waiters poll" {
  local mode
  for mode in shares refuses; do
    behind "$mode"
    new_line
    hold a
    stand_all a 0 2
    nobody_asleep || fail "$mode"
    let_go
    wait_for_all
    assert_order 0 1 2
  done
}
