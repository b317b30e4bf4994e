#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redis+sentinel://: the sentinels are asked before each connection, and a hold survives a failover.
# shellcheck disable=SC2154,SC2016  # *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite ticker cli leases replicas sentinels

@test "F05: the master is killed while a lock is held: renewed at the new one, the command's code" {
  start_set 2
  start_sentinels
  dlock_run a -v --ttl 15s -k 500ms kept -- "$TICKER" "$TICKS" until "$T/go" code 6
  eventually 10s ticking
  kill -KILL "${SET_PIDS[0]}"
  eventually 20s switched
  local now renewals
  now=$(named_master)
  on "$now" hgetall dlock:kept | grep -q 1
  renewals=$(grep -c 'renewed "kept"' "$T/a.err" || true)
  eventually 10s renewed_more_than "$renewals"
  touch "$T/go"
  ends 10s a "exit 6"
  eventually 5s no_lock_at kept "$now"
  # Whoever comes now finds the new master, too.
  run -0 --separate-stderr "$DLOCK" run kept -- true
  [ -z "$stderr" ]
}
renewed_more_than() { [ "$(grep -c 'renewed "kept"' "$T/a.err")" -gt "$1" ]; }

@test "F05: a sentinel that names a replica is not believed: 69, and nothing runs" {
  start_set 1
  start_sentinels
  kill -KILL "${SENTINEL_PIDS[1]}" "${SENTINEL_PIDS[2]}"
  run -0 "$DLOCK" run one -- true
  # One is left, and it is stopped from learning better: its master is the replica.
  sentinel 0 remove mymaster
  sentinel 0 monitor mymaster 127.0.0.1 "${SET_PORTS[1]}" 2
  run -69 --separate-stderr "$DLOCK" run --connect-timeout 1s one -- touch "$MARKER"
  assert_stderr_has "as the master, but it is a replica"
  assert_not_started
  kill -KILL "${SENTINEL_PIDS[0]}"
  run -69 --separate-stderr "$DLOCK" run --connect-timeout 1s one -- touch "$MARKER"
  assert_stderr_has "no sentinel answers: "
  assert_not_started
}

@test "a name that the sentinels do not know is 78, with the names that they know" {
  start_set 0
  start_sentinels
  run -78 --separate-stderr "$DLOCK" --url "${DLOCK_URL/mymaster/cache}" run x -- touch "$MARKER"
  assert_one_line
  assert_stderr_has 'the sentinels know no "cache", only "mymaster"'
  assert_not_started
  run -64 --separate-stderr "$DLOCK" --url redis+sentinel://127.0.0.1 run x -- true
  assert_stderr_has "the name of the master is missing"
}

@test "with sentinels a grant needs a replica, unless --replicas 0; a set without one needs none" {
  start_set 1
  start_sentinels 30000
  run -0 "$DLOCK" run x -- true
  kill -STOP "${SET_PIDS[1]}"
  run -69 --separate-stderr "$DLOCK" run -n --ttl 5s x -- touch "$MARKER"
  assert_stderr_has "only 0 of 1 replicas"
  assert_stderr_has "--replicas (0: wait for none)"
  assert_not_started
  run -0 "$DLOCK" run -n --replicas 0 x -- true
  kill -CONT "${SET_PIDS[1]}"
}
