#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: --on-unavailable decides about a run whose store is away, and about no other run. A run
# that is skipped is never taken for one that found the lock busy, and a run that goes on without the
# lock has nothing that looks like a lock.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server empty cli supervise quorum replicas refused

setup() {
  set_up
  new_files
}
teardown() {
  end_started
  clean_up
}

# lock_the_file: from now on another process has locked the database of SQLite.
lock_the_file() {
  python3 -S -c 'import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
open(sys.argv[2], "w").close()
time.sleep(120)' "$T/dlock.db" "$T/locked" 3>&- &
  OTHER_PIDS="${OTHER_PIDS:-} $!"
  eventually 10s test -e "$T/locked"
}
redis_is_away() {
  DLOCK_URL=redis://127.0.0.1:$(free_port)
  export DLOCK_URL
}
sqlite_is_away() {
  export DLOCK_URL=sqlite://$T/dlock.db
  "$DLOCK" run other -- true
  lock_the_file
}
away() { # POLICY OPTION…: a run that marks its start, of a store that is given 300 ms
  timeout 20 "$DLOCK" run --connect-timeout 300ms --on-unavailable "$@" x -- touch "$MARKER"
}
result() { json "d.get('$1', '-')" <"$T/end.json"; }

is_skipped() {
  run -75 --separate-stderr away skip
  assert_one_line
  assert_stderr_has 'dlock: skipped "x": the store is away (--on-unavailable skip): cannot '
  run -75 --separate-stderr away skip -q
  assert_one_line
  run -9 away skip -E 9
  run -0 away skip -q -E 0
  DLOCK_ON_UNAVAILABLE=skip run -75 away skip
  run -69 away fail
  assert_not_started
  # What a program reads.
  run -75 --separate-stderr away skip -q --log-format json --result-file "$T/end.json"
  [ "$(json 'd["event"]' <<<"$stderr")" = unavailable ]
  [ "$(json 'd["level"]' <<<"$stderr")" = error ]
  python3 "$PROGRAMS/schema.py" result "$T/end.json"
  assert_equal "$(result outcome) $(result exit_status) $(result hold)" "unavailable 75 null"
  [[ $(result error) == cannot* ]]
  assert_not_started
}
@test "skip: nothing is run, the status is that of a busy lock, and a line says why, also with -q: Redis" {
  redis_is_away
  is_skipped
}
@test "skip: nothing is run, the status is that of a busy lock, and a line says why, also with -q: SQLite" {
  sqlite_is_away
  is_skipped
}

runs_unlocked() {
  run -3 --separate-stderr env DLOCK_HELD=1 DLOCK_NAME=y DLOCK_TOKEN=7 timeout 20 "$DLOCK" run -q --connect-timeout 300ms --on-unavailable run \
    --result-file "$T/end.json" x -- sh -c 'env; exit 3'
  ! grep -E '^DLOCK_(HELD|NAME|OWNER|TOKEN|TTL_MS|MODE|SLOT|HOLDS)=' <<<"$output" || fail "variables of a lock"
  assert_one_line
  assert_stderr_has 'dlock: running the command WITHOUT "x": the store is away (--on-unavailable run): '
  python3 "$PROGRAMS/schema.py" result "$T/end.json"
  assert_equal "$(result outcome) $(result exit_code) $(result hold) $(result locks)" "unlocked 3 null []"
  # A run below it holds nothing either: it goes by its own setting.
  run -69 timeout 20 "$DLOCK" run --connect-timeout 300ms --on-unavailable run x -- \
    "$DLOCK" run --connect-timeout 300ms x -- touch "$MARKER"
  assert_not_started
  # A setting without an end stays one: nothing stops the command when a lease would have ended.
  run -0 timeout 20 "$DLOCK" run --ttl 1s --connect-timeout 300ms --on-unavailable run x -- sleep 2
  run -124 timeout 20 "$DLOCK" run --max-hold 200ms --connect-timeout 300ms --on-unavailable run x -- sleep 60
  run -127 timeout 20 "$DLOCK" run --connect-timeout 300ms --on-unavailable run x -- /nowhere/at-all
}
@test "run: the command runs without the lock and without its variables: Redis" {
  redis_is_away
  runs_unlocked
}
@test "run: the command runs without the lock and without its variables: SQLite" {
  sqlite_is_away
  runs_unlocked
}

@test "a store that answers decides as always, whatever the setting" {
  local policy
  for policy in skip run; do
    run -0 "$DLOCK" run --on-unavailable "$policy" x -- sh -c '[ -n "$DLOCK_TOKEN" ]'
    hold x
    run -75 --separate-stderr "$DLOCK" run --on-unavailable "$policy" -n --log-format json x -- touch "$MARKER"
    [ "$(json 'd["event"]' <<<"$stderr")" = busy ]
    let_go
  done
  assert_not_started
}

@test "a wrong password is 77, a wrong URL 64 or 78, a host or directory that does not exist 69" {
  local policy
  second_redis --requirepass sesame
  for policy in skip run; do
    refused 77 --url "$SECOND_URL" run --on-unavailable "$policy" x -- touch "$MARKER"
    refused 64 --url foo://a run --on-unavailable "$policy" x -- touch "$MARKER"
    DLOCK_URL=foo://a refused 78 run --on-unavailable "$policy" x -- touch "$MARKER"
    refused 69 --url redis://no-such-host.invalid run --on-unavailable "$policy" x -- touch "$MARKER"
    refused 69 --url "sqlite://$T/none/dlock.db" run --on-unavailable "$policy" x -- touch "$MARKER"
  done
}

@test "a replica (READONLY), and a server that is loading its data, are not away" {
  local policy
  second_redis --replicaof 127.0.0.1 1
  for policy in skip run; do
    refused 69 --url "$SECOND_URL" --connect-timeout 300ms run --on-unavailable "$policy" x -- touch "$MARKER"
    assert_stderr_has replica
  done
  fake_server loading
  for policy in skip run; do
    refused 69 --url "redis://127.0.0.1:$FAKE_PORT" --connect-timeout 300ms \
      run --on-unavailable "$policy" x -- touch "$MARKER"
  done
}

@test "a server that takes the claim and never answers may have granted it: 69" {
  local policy
  fake_server silent
  for policy in skip run; do
    refused 69 --url "redis://127.0.0.1:$FAKE_PORT" --connect-timeout 300ms \
      run --on-unavailable "$policy" x -- touch "$MARKER"
  done
}

# silent_address: sets SILENT_PORT, to which no connection can be made, as behind a firewall.
silent_address() {
  python3 -S -c 'import socket, sys, time
full = socket.create_server(("127.0.0.1", 0), backlog=0)
calls = [socket.socket() for _ in range(4)]
for call in calls:
    call.setblocking(False)
    call.connect_ex(full.getsockname())
open(sys.argv[1], "w").write(str(full.getsockname()[1]))
time.sleep(60)' "$T/port" 3>&- &
  OTHER_PIDS="${OTHER_PIDS:-} $!"
  eventually 10s test -s "$T/port"
  SILENT_PORT=$(cat "$T/port")
}
@test "a server to which no connection can be made has got no claim: it is away" {
  silent_address
  export DLOCK_URL=redis://127.0.0.1:$SILENT_PORT
  run -69 --separate-stderr away fail
  assert_stderr_has 'no answer within 300ms'
  run -75 away skip -n
  assert_not_started
  run -0 away run
  [ -e "$MARKER" ] || fail "not run"
}

@test "a server of another kind, or without TLS, may be a wrong setting: 69" {
  local policy url
  fake_server silent
  for policy in skip run; do
    for url in "rediss://127.0.0.1:$FAKE_PORT" "etcds://127.0.0.1:$FAKE_PORT" \
      "postgresql://127.0.0.1:$FAKE_PORT/x" "mysql://127.0.0.1:$FAKE_PORT/x"; do
      refused 69 --url "$url" --connect-timeout 300ms run --on-unavailable "$policy" x -- touch "$MARKER"
    done
  done
}

@test "a store that goes away while the run waits in line is 69" {
  start_quorum 1
  on 0 hset dlock:x other:1 1
  spawn a "$DLOCK" run -v --ttl 1s --connect-timeout 300ms --on-unavailable run x -- touch "$MARKER"
  eventually 10s file_has "$T/a.err" waiting
  kill_member 0
  ends 20s a "exit 69"
  assert_not_started
}

@test "a renewal that cannot be made is 79, as always" {
  start_quorum 1
  dlock_run a --ttl 1s -k 100ms --on-unavailable run x -- sh -c 'touch "$0"; sleep 60' "$MARKER"
  eventually 10s test -e "$MARKER"
  kill_member 0
  ends 20s a "exit 79"
}

@test "a run below a hold of the same name does not go on without it" {
  start_quorum 1
  run -69 timeout 20 "$DLOCK" run --ttl 1m x -- sh -c '
    redis-cli -s "$0" shutdown nosave
    exec "$1" run --connect-timeout 300ms --on-unavailable run x -- touch "$2"' "$T/0.sock" "$DLOCK" "$MARKER"
  assert_not_started
}

@test "TERM while the store is tried ends the run" {
  redis_is_away
  spawn a "$DLOCK" run -v --connect-timeout 60s --on-unavailable run x -- touch "$MARKER"
  eventually 10s file_has "$T/a.err" retrying
  kill -TERM "$a_pid"
  ends 5s a "signal 15"
  assert_not_started
}

@test "in a quorum fewer than a majority must answer" {
  start_quorum 3
  "$DLOCK" run x -- true
  kill_member 1
  run -0 --separate-stderr away run
  [ -z "$stderr" ]
  rm "$MARKER"
  kill_member 2
  run -75 --separate-stderr away skip
  assert_stderr_has '2 of 3 servers'
  assert_not_started
  eventually 10s no_lock_at x 0 # what the third server had granted
  run -0 --separate-stderr away run
  assert_stderr_has WITHOUT
  [ -e "$MARKER" ] || fail "not run"
}

@test "the metrics and --notify know both, and the store remembers no run" {
  export DLOCK_METRICS_DIR=$T
  export DLOCK_NOTIFY='cat >>$T/lines; echo "$DLOCK_EVENT ${DLOCK_OUTCOME:--} $DLOCK_NAME" >>$T/told'
  export T
  start_quorum 1
  run -0 "$DLOCK" run x -- true
  run -0 "$DLOCK" inspect --json x
  local before
  before=$(json 'd["locks"][0]["last"]["token"]' <<<"$output")
  DLOCK_URL=redis://127.0.0.1:$(free_port) run -75 away skip
  DLOCK_URL=redis://127.0.0.1:$(free_port) run -0 away run --once-per 1h --min-hold 1h
  assert_equal "$(cat "$T/told")" $'unavailable unavailable x\nunlocked - x'
  grep -Fqx 'dlock_runs_total{lock="x",outcome="unavailable"} 1' "$T/dlock_x.prom"
  grep -Fqx 'dlock_runs_total{lock="x",outcome="unlocked"} 1' "$T/dlock_x.prom"
  grep -Fqx 'dlock_runs_total{lock="x",outcome="busy"} 0' "$T/dlock_x.prom"
  run -0 "$DLOCK" inspect --json x
  assert_equal "$(json 'd["locks"][0]["last"]["token"]' <<<"$output")" "$before"
  [ "$(json 'd["locks"][0]["state"]' <<<"$output")" = free ]
}
