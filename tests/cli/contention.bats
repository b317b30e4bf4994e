#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: one at a time; a nested run of the same name passes, and nobody else does; who waits is
# woken.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server cli

waiters() { r pubsub numsub "redisson_lock__channel:{dlock:$1}" | tail -1; }
waits_for() { [ "$(waiters "$1")" -ge "${2:-1}" ]; }

# count_to N: N increments of a file that cannot bear two at a time.
count_to() {
  echo 0 >"$BATS_TEST_TMPDIR/count"
  local -a pids=()
  local pid failed=0
  for ((i = 0; i < $1; i++)); do
    "$DLOCK" run -w 300 --connect-timeout 60s counter -- sh -c 'read n <"$0"; echo $((n + 1)) >"$0"' "$BATS_TEST_TMPDIR/count" \
      2>>"$BATS_TEST_TMPDIR/count.err" 3>&- &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || failed=$((failed + 1)); done
  [ "$failed" = 0 ] || fail "$failed failed: $(grep -v waiting "$BATS_TEST_TMPDIR/count.err" | head -5)"
  [ "$(cat "$BATS_TEST_TMPDIR/count")" = "$1" ] || fail "$(cat "$BATS_TEST_TMPDIR/count") of $1"
}

@test "K01: two hundred at once increment one by one, in Redis" {
  count_to 200
  assert_no_keys
}

@test "K01: two hundred at once increment one by one, in a directory" {
  DLOCK_URL=local://$BATS_TEST_TMPDIR/locks count_to 200
}

@test "two names do not exclude each other" {
  hold one
  run -0 "$DLOCK" run -n two -- true
  run -0 "$DLOCK" run -n 'one ' -- true
  run -0 "$DLOCK" run -n ONE -- true
  run -0 "$DLOCK" --prefix other: run -n one -- true
  run -75 "$DLOCK" run -n one -- true
  let_go
}

@test "K02: a nested run of the same name passes at once, with the same token, and frees nothing" {
  run -0 --separate-stderr "$DLOCK" run a -- "$DLOCK" run -n a -- true
  assert_no_stderr
  run -0 "$DLOCK" run a -- sh -c 'echo $DLOCK_TOKEN; "$DLOCK" run -n a -- sh -c "echo \$DLOCK_TOKEN"
    redis-cli -s "$REDIS_SOCKET" exists dlock:a; env -u DLOCK_HOLDS "$DLOCK" run -n a -- true 2>/dev/null || echo $?'
  [ "${lines[0]}" = "${lines[1]}" ]
  [ "${lines[2]}" = 1 ]
  [ "${lines[3]}" = 75 ]
  run -0 "$DLOCK" run a -- "$DLOCK" run b -- "$DLOCK" run a -- "$DLOCK" run b -- true
  assert_no_keys
}

@test "nesting goes as deep as one likes" {
  run -3 "$DLOCK" run a -- sh -c '
    if [ "$1" = 0 ]; then exit 3; fi; exec "$DLOCK" run -n a -- sh -c "$2" sh $(($1 - 1)) "$2"' sh 20 \
    'if [ "$1" = 0 ]; then exit 3; fi; exec "$DLOCK" run -n a -- sh -c "$2" sh $(($1 - 1)) "$2"'
  assert_no_keys
}

@test "nesting works in a directory too" {
  export DLOCK_URL=local://$BATS_TEST_TMPDIR/locks
  run -0 --separate-stderr "$DLOCK" run a -- "$DLOCK" run -n a -- true
  assert_no_stderr
  run -75 "$DLOCK" run a -- env -u DLOCK_HOLDS "$DLOCK" run -n a -- true
}

@test "siblings under a parent that holds one name exclude each other on another" {
  echo 0 >"$BATS_TEST_TMPDIR/count"
  run -0 "$DLOCK" run a -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do
    "$DLOCK" run b -- sh -c "read n <\"\$0\"; sleep 0.01; echo \$((n + 1)) >\"\$0\"" "$0" & done; wait' "$BATS_TEST_TMPDIR/count"
  [ "$(cat "$BATS_TEST_TMPDIR/count")" = 10 ]
}

@test "a nested run that outlives its parent's hold keeps the lock until it ends" {
  "$DLOCK" run a -- bash -c 'setsid "$DLOCK" run a -- sh -c "touch \"\$0/in\"; until [ -e \"\$0/go\" ]; do sleep 0.02; done" \
    "$0" >/dev/null 2>&1 & until [ -e "$0/in" ]; do sleep 0.02; done' "$BATS_TEST_TMPDIR" 3>&-
  key_exists a
  run -75 "$DLOCK" run -n a -- touch "$MARKER"
  touch "$BATS_TEST_TMPDIR/go"
  eventually 10s key_gone a
  assert_not_started
  run -0 "$DLOCK" run -n a -- true
}

@test "K05: a nested run that starts after its ancestor has released is a stranger" {
  "$DLOCK" run a -- bash -c 'echo "$DLOCK_HOLDS"' >"$BATS_TEST_TMPDIR/holds"
  # Free: it gets in by itself, under an owner of its own.
  run -0 env DLOCK_HOLDS="$(cat "$BATS_TEST_TMPDIR/holds")" "$DLOCK" run -n a -- sh -c 'echo "$DLOCK_OWNER"'
  [[ "$(cat "$BATS_TEST_TMPDIR/holds")" != *"${output%%:*}"* ]]
  hold a
  run -75 env DLOCK_HOLDS="$(cat "$BATS_TEST_TMPDIR/holds")" "$DLOCK" run -n a -- touch "$MARKER"
  let_go
}

@test "K05: a forged or foreign list of holds admits no claim" {
  hold a
  local owner serial holds
  owner=$(r hkeys dlock:a)
  serial=$(r hkeys 'dlock:holds:{dlock:a}')
  for holds in a 'dlock:a' "$owner" "x|dlock:a|$owner|0000000000000000" "x|dlock:b|$owner|${serial#*#}" \
    "|||" "x|dlock:a|*|*" "$(printf '%0100000d' 0)" $'\e\xff|%|%2|%zz' \
    "redis|dlock:a|6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:1|${serial#*#}"; do
    run -75 --separate-stderr env DLOCK_HOLDS="$holds" "$DLOCK" run -n a -- touch "$MARKER"
    assert_one_line
  done
  assert_not_started
  let_go
}

@test "K05: the holds of one store count for nothing in another" {
  second_redis
  run -0 "$DLOCK" run a -- "$DLOCK" --url "$SECOND_URL" run -n a -- redis-cli -s "$SECOND_SOCKET" hlen dlock:a
  assert_output 1
  hold a --url "$SECOND_URL"
  run -75 "$DLOCK" run a -- "$DLOCK" --url "$SECOND_URL" run -n a -- touch "$MARKER"
  let_go
}

# woken_by RELEASE…: who waits for the lock of this test is woken by that. Who is not looks again 2.5 to
# 3 s after its last look, which was a moment ago; so once in three times is enough on a busy machine.
woken_by() {
  local before waiter took round
  for round in 1 2 3; do
    rm -f "$MARKER"
    taken
    "$DLOCK" run -w 60 "$(fresh)" -- touch "$MARKER" 3>&- &
    waiter=$!
    eventually 10s waits_for "$(fresh)"
    before=${EPOCHREALTIME/./}
    "$@"
    wait "$waiter"
    took=$((${EPOCHREALTIME/./} - before))
    [ -e "$MARKER" ]
    if [ "$took" -lt 2000000 ]; then return; fi
  done
  fail "woken after $took us, the last of $round times"
}

@test "a waiter is woken by the release, long before the lease would have ended" {
  taken() { hold "$(fresh)" --ttl 60s; }
  woken_by let_go
}

@test "a waiter is one process; a holder has a guard" {
  hold "$(fresh)"
  "$DLOCK" run -w 60 "$(fresh)" -- sh -c 'sleep 60 & echo >"$0"; wait' "$MARKER" 2>/dev/null 3>&- &
  local waiter=$!
  eventually 10s waits_for "$(fresh)"
  eventually 10s run -1 pgrep -P "$waiter"
  let_go
  eventually 10s test -e "$MARKER"
  eventually 5s pgrep -P "$waiter" -x lease-guard # it names itself
  kill "$waiter"
  run wait "$waiter"
}

@test "K19: a waiter is woken by a Java service's release" {
  taken() { r hset "dlock:$(fresh)" 6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57 1 >/dev/null; }
  woken_by r --raw eval 'redis.call("DEL", KEYS[1]); redis.call("PUBLISH", ARGV[1], "0")' 1 "dlock:$(fresh)" \
    "redisson_lock__channel:{dlock:$(fresh)}"
}

@test "a lock whose holder vanished is taken when its lease ends" {
  hold "$(fresh)" --ttl 2s
  local child
  child=$(cat "$BATS_TEST_TMPDIR/held")
  kill -KILL "$HOLDER"
  run -0 timeout 10 "$DLOCK" run -w 8 "$(fresh)" -- true
  kill -KILL "$child" 2>/dev/null || true
}

@test "waiting survives a restart of the server" {
  second_redis
  hold first --url "$SECOND_URL" --ttl 60s --on-lost warn
  "$DLOCK" --url "$SECOND_URL" run -w 20 first -- touch "$MARKER" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
  local waiter=$!
  eventually 10s waits_there
  kill -KILL "$SECOND_PID"
  wait "$SECOND_PID" || true
  sleep 0.3
  assert_not_started
  second_redis
  # The new server knows nothing of the old hold: the waiter gets it, without a word about the outage.
  local rc=0
  wait "$waiter" || rc=$?
  [ "$rc" = 0 ] || fail "$rc: $(cat "$BATS_TEST_TMPDIR/err")"
  let_go || true
}
waits_there() { [ "$(r2 pubsub numsub 'redisson_lock__channel:{dlock:first}' | tail -1)" -gt 0 ]; }

@test "-w ends cleanly: 75, nothing started, no waiter left in line" {
  hold "$(fresh)"
  run -75 --separate-stderr "$DLOCK" run -w 0.5 "$(fresh)" -- touch "$MARKER"
  # On a slow machine it has waited for a second, and said so.
  mapfile -t stderr_lines < <(grep -v '^dlock: waiting ' <<<"$stderr")
  assert_one_line
  assert_stderr_has "pid $HOLDER"
  assert_not_started
  [ "$(waiters "$(fresh)")" = 0 ]
  let_go
  assert_not_started
  run -0 "$DLOCK" run -n "$(fresh)" -- true
}

@test "a long wait names the holder" {
  hold "$(fresh)" --reason 'nightly import'
  run -75 --separate-stderr "$DLOCK" run -w 1.5 "$(fresh)" -- touch "$MARKER"
  [[ ${#stderr_lines[@]} = [23] ]] # the second time on a slow machine
  [[ ${stderr_lines[0]} == "dlock: waiting"*"pid $HOLDER"*"nightly import"* ]]
  let_go
}

@test "a reported wait ends with a line that says how long it took; not with --quiet" {
  local waiter quiet
  hold "$(fresh)"
  "$DLOCK" run -w 60 "$(fresh)" -- true 2>"$BATS_TEST_TMPDIR/err" 3>&- &
  waiter=$!
  "$DLOCK" run -q -w 60 "$(fresh)" -- true 2>"$BATS_TEST_TMPDIR/quiet" 3>&- &
  quiet=$!
  eventually 10s grep -q waiting "$BATS_TEST_TMPDIR/err"
  let_go
  wait "$waiter" "$quiet"
  run -0 tail -1 "$BATS_TEST_TMPDIR/err"
  assert_output --regexp "^dlock: acquired \"$(fresh)\" after [0-9.]+s$"
  [ ! -s "$BATS_TEST_TMPDIR/quiet" ]
}

@test "a waiting reader says which command writes" {
  hold "$(fresh)" -x
  run -75 --separate-stderr "$DLOCK" run -n -s "$(fresh)" -- touch "$MARKER"
  assert_stderr_has "\"$(fresh)\" is busy (wanted to read): held by "
  assert_stderr_has " pid $HOLDER (sh) for "
  let_go
}

@test "a waiter that gets a signal dies by it and leaves nothing" {
  hold "$(fresh)"
  local waiter rc number
  for number in 1 2 15; do
    python3 -c 'import os, signal, sys
for n in (1, 2, 3, 15): signal.signal(n, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$DLOCK" run "$(fresh)" -- touch "$MARKER" 2>/dev/null 3>&- &
    waiter=$!
    eventually 10s waits_for "$(fresh)"
    kill -"$number" "$waiter"
    rc=0
    wait "$waiter" || rc=$?
    [ "$rc" = $((128 + number)) ] || fail "$number: $rc"
    eventually 5s no_waiter "$(fresh)"
  done
  let_go
  assert_not_started
  assert_no_keys
}
no_waiter() { [ "$(waiters "$1")" = 0 ]; }

@test "a nested run that its outer run kills leaves nothing of its command behind" {
  local pid=$BATS_TEST_TMPDIR/pid outer
  "$DLOCK" run --ttl 3s -k 300ms outer -- "$DLOCK" run --ttl 3s -k 1500ms inner -- \
    bash -c 'trap "" TERM
      (while :; do sleep 0.05; done) & echo $! >"$1"
      while :; do sleep 0.05; done' - "$pid" >/dev/null 2>&1 3>&- &
  outer=$!
  eventually 10s test -s "$pid"
  kill -TERM "$outer"
  wait "$outer" || true
  if alive "$(cat "$pid")"; then
    kill -KILL "$(cat "$pid")"
    fail "what the nested run left behind runs on"
  fi
  key_gone outer
}
