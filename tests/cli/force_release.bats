#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: force-release takes a lock from its holder without letting two run, and from no other.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server empty cli inspected

# How the holder ended:
holder_ended() { # STATUS
  local rc=0
  wait "$HOLDER" || rc=$?
  HOLDER=''
  [ "$rc" = "$1" ] || fail "the holder ended with $rc: $(cat "$BATS_TEST_TMPDIR/holder.err")"
}

@test "force-release makes the holder stop its command and give the lock back" {
  hold "$(fresh)" --ttl 9s --reason 'stuck import'
  local pid=$HOLDER child
  child=$(cat "$BATS_TEST_TMPDIR/held")
  run -0 --separate-stderr timeout 20 "$DLOCK" force-release --yes "$(fresh)"
  assert_output ""
  # A line before it, if the holder took longer than a second.
  [[ ${stderr##*$'\n'} == "dlock: released \"$(fresh)\" after "*"pid $pid "*'stuck import' ]] || fail "$stderr"
  [[ ${stderr##*$'\n'} != *', lease '* ]] || fail "$stderr" # it has ended
  gone "$child"
  key_gone "$(fresh)"
  holder_ended 79
  run -0 cat "$BATS_TEST_TMPDIR/holder.err"
  assert_output --partial revoked
  assert_output --partial "$(id -un)@$(hostname)"
  assert_no_keys
}

@test "a revoked lock names the user who revoked it, and is not free before its holder is gone" {
  "$DLOCK" run --ttl 30s "$(fresh)" -- sh -c 'trap "" TERM; touch "$0/held"
    until [ -e "$0/go" ]; do sleep 0.02; done' "$BATS_TEST_TMPDIR" 2>"$BATS_TEST_TMPDIR/holder.err" 3>&- &
  HOLDER=$!
  eventually 10s test -e "$BATS_TEST_TMPDIR/held"
  timeout 40 "$DLOCK" force-release --yes "$(fresh)" 2>/dev/null 3>&- &
  local releaser=$!
  eventually 5s revoked_by_us
  run -75 "$DLOCK" run -n "$(fresh)" -- touch "$MARKER"
  eventually 20s file_has "$BATS_TEST_TMPDIR/holder.err" revoked
  run -75 "$DLOCK" run -n "$(fresh)" -- touch "$MARKER"
  touch "$BATS_TEST_TMPDIR/go"
  wait "$releaser"
  holder_ended 79
}
revoked_by_us() { [ "$("$DLOCK" inspect --json "$(fresh)" | json 'd["locks"][0].get("revoked_by")')" = "$(id -un)@$(hostname)" ]; }

@test "a holder that is gone loses a revoked lock when its lease ends" {
  hold "$(fresh)" --ttl 5s
  local child
  child=$(cat "$BATS_TEST_TMPDIR/held")
  kill -KILL "$HOLDER"
  run -0 timeout 20 "$DLOCK" force-release --yes "$(fresh)"
  key_gone "$(fresh)"
  kill -KILL "$child" 2>/dev/null || true
  run -0 "$DLOCK" run -n "$(fresh)" -- true
}

@test "K10: --if-owner and --if-token refuse when the holder is another: 75, and nothing is touched" {
  hold "$(fresh)" --ttl 9s
  local owner token
  owner=$(r hkeys "dlock:$(fresh)")
  token=$(r get "redisson_lock_token:{dlock:$(fresh)}")
  for option in "--if-owner=$java" "--if-token=$((token - 1))" "--if-owner=${owner%?}" "--if-owner=*"; do
    run -75 --separate-stderr "$DLOCK" force-release --yes "$option" "$(fresh)"
    assert_one_line
    assert_stderr_has "pid $HOLDER"
    case $option in
      --if-owner=*) assert_stderr_has "; owner $owner, not ${option#*=}" ;;
      *) assert_stderr_has "; token $token, not ${option#*=}" ;;
    esac
    run -75 "$DLOCK" force-release --yes --now "$option" "$(fresh)"
  done
  run -75 "$DLOCK" force-release --yes "--if-owner=$owner" --if-token 1 "$(fresh)"
  # What is empty is a variable that was not set, and no condition would be met by accident.
  for option in --if-owner --if-token; do
    run -64 "$DLOCK" force-release --yes "$option" '' "$(fresh)"
    run -64 "$DLOCK" force-release --yes "$option=" "$(fresh)"
  done
  run -64 "$DLOCK" force-release --yes --if-token many "$(fresh)"
  lock_is "['revoked_by']" null
  alive "$HOLDER"
  run -0 timeout 20 "$DLOCK" force-release --yes --if-owner "$owner" --if-token "$token" "$(fresh)"
  holder_ended 79
}

@test "force-release revokes all holders, and waits for each" {
  hold "$(fresh)" -s --ttl 9s
  local first=$HOLDER second rc=0
  mv "$BATS_TEST_TMPDIR/held" "$BATS_TEST_TMPDIR/first"
  hold "$(fresh)" -s --ttl 9s
  second=$HOLDER
  more -s --ttl 4s >/dev/null # looks for nothing: its lease has to end
  run -0 --separate-stderr timeout 20 "$DLOCK" force-release --yes "$(fresh)"
  # shellcheck disable=SC2154  # set by run
  assert_regex "$stderr" "^dlock: [^"$'\n'"]+ was taken by dlock acquire: [^"$'\n'"]+"$'\n'"(dlock: waiting for $(us) [0-9]+ and 2 others to stop: at most [0-9.]+s"$'\n'")+dlock: released [^"$'\n'"]+and 2 others[^"$'\n'"]*\$"
  key_gone "$(fresh)"
  gone "$(cat "$BATS_TEST_TMPDIR/first")"
  gone "$(cat "$BATS_TEST_TMPDIR/held")"
  wait "$first" || rc=$?
  [ "$rc" = 79 ]
  HOLDER=$second
  holder_ended 79
  eventually 10s assert_no_keys # the notes of the dead end by themselves
}

@test "--if-owner revokes only the named one of several holders" {
  local owner
  hold "$(fresh)" --slots 2 --ttl 20s
  owner=$(more --slots 2 --ttl 5s | sed -n 's/^export DLOCK_OWNER=//p')
  run -0 timeout 20 "$DLOCK" force-release --yes --if-owner "$owner" "$(fresh)"
  alive "$HOLDER"
  lock_is "['owner_count']" 1
  let_go
  run -1 "$DLOCK" inspect -q "$(fresh)"
}

@test "--now deletes at once, says that two may run, and the holder learns of it" {
  hold "$(fresh)" --ttl 9s
  run -0 --separate-stderr timeout 10 "$DLOCK" force-release --now --yes "$(fresh)"
  assert_one_line
  assert_stderr_has "pid $HOLDER"
  assert_stderr_has 'may still run when the next holder starts'
  key_gone "$(fresh)"
  run -0 "$DLOCK" run -n "$(fresh)" -- true
  holder_ended 79
  assert_no_keys
}

@test "--now wakes the waiters" {
  local waiter before round
  # Who is not woken looks again 2.5 to 3 s after its last look: on a busy machine once is enough.
  for round in 1 2 3; do
    r hset "dlock:$(fresh)" "$java" 1 >/dev/null
    timeout 10 "$DLOCK" run "$(fresh)" -- touch "$MARKER" 3>&- &
    waiter=$!
    eventually 5s waiter_there
    before=${EPOCHREALTIME/./}
    run -0 "$DLOCK" force-release --now --yes "$(fresh)"
    wait "$waiter"
    if [ $((${EPOCHREALTIME/./} - before)) -lt 2000000 ]; then return; fi
  done
  fail "not woken in $round times"
}
waiter_there() { [ "$(r pubsub numsub "redisson_lock__channel:{dlock:$(fresh)}" | tail -1)" -gt 0 ]; }

@test "what is not dlock's can only be taken away with --now" {
  r hset dlock:java "$java" 1 >/dev/null
  r set dlock:string x >/dev/null
  for name in java string; do
    run -75 --separate-stderr "$DLOCK" force-release --yes "$name"
    assert_one_line
    assert_stderr_has --now
    key_exists "$name"
    run -0 "$DLOCK" force-release --yes --now "$name"
    key_gone "$name"
  done
}

@test "without a terminal force-release needs --yes" {
  r set "dlock:$(fresh)" x >/dev/null
  for options in '' --now; do
    # shellcheck disable=SC2086
    run -64 --separate-stderr bash -c '"$DLOCK" force-release '"$options"' "$1" </dev/null' - "$(fresh)"
    assert_one_line
    assert_stderr_has --yes
  done
  key_exists "$(fresh)"
}

@test "where nothing is held, nothing is released: 1" {
  run -1 --separate-stderr "$DLOCK" force-release --yes "$(fresh)"
  assert_one_line
  assert_stderr_has "$(fresh)"
  run -1 "$DLOCK" force-release --yes --now "$(fresh)"
  [ "$(r dbsize)" = 0 ]
}

@test "a hold of acquire: force-release says that no process releases it, and what does" {
  local owner revoker
  owner=$("$DLOCK" acquire --ttl 60s "$(fresh)" | sed -n 's/^export DLOCK_OWNER=//p' | tr -d "'")
  [ -n "$owner" ]
  "$DLOCK" force-release --yes "$(fresh)" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
  revoker=$!
  eventually 5s grep -qF "dlock release --owner $owner \"$(fresh)\"" "$BATS_TEST_TMPDIR/err"
  grep -q 'may still run when the next holder starts' "$BATS_TEST_TMPDIR/err"
  run -0 "$DLOCK" release --owner "$owner" "$(fresh)"
  run -0 wait_for "$revoker"
}
wait_for() { timeout 5 tail --pid "$1" -f /dev/null; }
