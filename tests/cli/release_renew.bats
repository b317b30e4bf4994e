#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: release and renew serve the hold that acquire has left, also from another shell, and touch
# no lock of another owner.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC1003,SC1091,SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server empty line modes steps

@test "release of what is another's is refused, and touches nothing: 75" {
  local state id
  hold "$(fresh)"
  state=$(state_of "$(fresh)")
  for id in "$somebody" "$somebody#0123456789abcdef" "$(owner_of "$(fresh)")" \
    "$(owner_of "$(fresh)")#0123456789abcdef"; do
    run -75 --separate-stderr "$DLOCK" release --owner "$id" "$(fresh)"
    assert_one_line
    assert_stderr_has "not released: \"$(fresh)\" is held by"
    assert_stderr_has "pid $HOLDER"
    run -79 "$DLOCK" renew --owner "$id" "$(fresh)"
  done
  assert_equal "$(state_of "$(fresh)")" "$state"
  let_go
  r set "dlock:$(fresh)" x >/dev/null
  run -75 "$DLOCK" release --owner "$somebody" "$(fresh)"
  [ "$(r get "dlock:$(fresh)")" = x ]
  r del "dlock:$(fresh)" >/dev/null
  run -1 --separate-stderr "$DLOCK" release --owner "$somebody" "$(fresh)"
  assert_one_line
  assert_stderr_has 'nothing to release'
}

@test "of several names release releases all that it can, and its status tells of each failure" {
  local told owner gone
  for gone in "$(fresh)" c; do
    told=$("$DLOCK" acquire "$(fresh)" b c)
    owner=$(eval "$told" && echo "${DLOCK_OWNER##* }")
    run -0 "$DLOCK" release --owner "$owner" "$gone"
    run -1 --separate-stderr "$DLOCK" release --owner "$owner" "$(fresh)" b c
    assert_one_line
    assert_stderr_has "\"$gone\" is free: nothing to release"
    assert_no_keys
  done
}

@test "a run releases its own lock: dlock release refuses to" {
  run -0 --separate-stderr "$DLOCK" run "$(fresh)" -- sh -c '"$DLOCK" release "$DLOCK_NAME"; echo $?
    redis-cli -s "$REDIS_SOCKET" exists "dlock:$DLOCK_NAME"'
  assert_output $'75\n1'
  assert_stderr_has 'dlock run releases its own lock when its command ends'
  assert_no_keys
}

@test "the owner alone is enough elsewhere, and so is the hold; what is neither is refused" {
  local told owners others
  told=$("$DLOCK" acquire "$(fresh)" b)
  owners=$(eval "$told" && echo "$DLOCK_OWNER")
  run -0 "$DLOCK" renew --owner "$owners" "$(fresh)" b
  run -0 "$DLOCK" renew --owner "${owners% *}" b "$(fresh)"
  run -0 "$DLOCK" release --owner "${owners% *}" "$(fresh)"
  others=$(eval "$("$DLOCK" acquire "$(fresh)")" && echo "$DLOCK_OWNER")
  run -79 "$DLOCK" renew --owner "$owners" "$(fresh)" b
  run -0 "$DLOCK" release --owner "$others ${owners#* }" "$(fresh)" b
  assert_no_keys
  told=$("$DLOCK" acquire --json "$(fresh)")
  run -0 "$DLOCK" release --owner "$(json 'd["locks"][0]["hold"]' <<<"$told")" "$(fresh)"
  assert_no_keys
  for id in '' ' ' nobody '#' 'x#' '#x' 57 "$somebody $somebody" "$somebody,$somebody"; do
    run -64 --separate-stderr "$DLOCK" release --owner "$id" "$(fresh)"
    assert_one_line
    assert_stderr_has --owner
  done
  for command in renew release; do
    run -64 --separate-stderr "$DLOCK" "$command" "$(fresh)"
    assert_one_line
    assert_stderr_has DLOCK_HOLDS
    assert_stderr_has --owner
  done
}

@test "a hold that joined another is released by OWNER#SERIAL only, and the other hold stays" {
  local hold
  take "$(fresh)"
  hold=$("$DLOCK" acquire --json "$(fresh)" | json 'd["locks"][0]["hold"]')
  assert_equal "${hold%#*}" "$DLOCK_OWNER"
  assert_equal "$(r hget "dlock:$(fresh)" "$DLOCK_OWNER")" 2
  run -0 env -u DLOCK_HOLDS "$DLOCK" renew --owner "$hold" "$(fresh)"
  run -0 env -u DLOCK_HOLDS "$DLOCK" release --owner "$hold" "$(fresh)"
  run -75 env -u DLOCK_HOLDS "$DLOCK" release --owner "$hold" "$(fresh)"
  assert_equal "$(r hget "dlock:$(fresh)" "$DLOCK_OWNER")" 1
  run -0 "$DLOCK" release --owner "$DLOCK_OWNER" "$(fresh)"
  assert_no_keys
}

# --- renew -------------------------------------------------------------------------------------

@test "release also releases the hold of a nested run that was killed" {
  take --ttl 1h "$(fresh)"
  dlock_run step "$(fresh)" -- sh -c 'echo $$ >"$0/pids"; exec sleep 60' "$T"
  eventually 10s holds_of 2
  eventually 10s test -s "$T/pids"
  kill -KILL "$step_pid"
  ends 10s step "signal 9"
  eventually 10s all_gone "$T/pids"
  run -0 --separate-stderr "$DLOCK" release "$(fresh)"
  # A server that has no processor for a second is told of.
  run ! grep -Ev '^$|; retrying for ' <<<"$stderr"
  assert_no_keys
}
holds_of() { [ "$(r hlen "dlock:holds:{dlock:$(fresh)}")" = "$1" ]; }

@test "release says so where a run below it goes on: the lock is held as long" {
  take --ttl 1h "$(fresh)"
  dlock_run step "$(fresh)" -- sh -c 'until [ -e "$0/out" ]; do sleep 0.02; done' "$T"
  eventually 10s holds_of 2
  run -0 --separate-stderr "$DLOCK" release "$(fresh)"
  assert_equal "$stderr" "dlock: released \"$(fresh)\"; a nested run still holds the lock, or its lease has not expired"
  run -75 env -u DLOCK_HOLDS "$DLOCK" run -n "$(fresh)" -- true
  touch "$T/out"
  ends 10s step "exit 0"
  assert_no_keys
}

@test "renew makes a lease last longer, never shorter, and makes none" {
  take --ttl 10s "$(fresh)"
  "$DLOCK" renew --ttl 100s "$(fresh)"
  [ "$(lock_ttl "$(fresh)")" -gt 50000 ]
  "$DLOCK" renew "$(fresh)" # that of DLOCK_TTL_MS
  [ "$(lock_ttl "$(fresh)")" -gt 20000 ]
  DLOCK_TTL_MS='' DLOCK_TTL=1000s "$DLOCK" renew "$(fresh)"
  [ "$(lock_ttl "$(fresh)")" -gt 500000 ]
  "$DLOCK" release "$(fresh)"
  run -79 --separate-stderr "$DLOCK" renew "$(fresh)"
  assert_equal "$stderr" "dlock: cannot renew \"$(fresh)\": the hold was released"
  assert_no_keys
  for words in '--ttl 0' '--every 0' '--every 1h' '--while 0' '--while me' '--every soon'; do
    # shellcheck disable=SC2086  # words
    run -64 "$DLOCK" renew --owner "$somebody" $words "$(fresh)"
  done
}

still_ours() { [ "$(owner_of "$(fresh)")" = "$DLOCK_OWNER" ]; }
@test "renew --while keeps a lock for as long as a process lives" {
  take --ttl 4s "$(fresh)"
  sleep 1000 3>&- &
  local work=$! end=$((SECONDS + 6))
  STARTED+=("$work")
  spawn keeper "$DLOCK" renew --every 300ms --while "$work" "$(fresh)"
  while [ "$SECONDS" -lt "$end" ]; do
    still_ours || fail "lost after $SECONDS s: $(cat "$T/keeper.err")"
    sleep 0.2
  done
  kill -KILL "$work"
  ends 5s keeper "exit 0"
  still_ours # nothing is released
  eventually 10s key_gone "$(fresh)"
  run -0 "$DLOCK" renew --while "$work" "$(fresh)" # is gone
  key_gone "$(fresh)"
}

keeper_of_a_job() {
  take --ttl 5s "$(fresh)"
  "$DLOCK" acquire b >"$T/told" && . "$T/told"
  spawn keeper "$DLOCK" renew --every 200ms --while $$ -v "$(fresh)" b
  eventually 10s file_has "$T/keeper.err" 'renewed "b"'
  "$DLOCK" release "$(fresh)"
  # It goes on with the other one.
  : >"$T/keeper.err"
  eventually 10s file_has "$T/keeper.err" 'renewed "b"'
  "$DLOCK" release b
  ends 10s keeper "exit 0"
  run -1 grep -av 'dlock: renewed "b"' "$T/keeper.err"
  run -0 --separate-stderr "$DLOCK" renew --while $$ b # that came too late
  assert_no_stderr
}
@test "a keeper ends with 0 and without a word when all that it keeps was released" { keeper_of_a_job; }
@test "a keeper ends with 0 and without a word when all was released, in a directory" {
  in_a_directory
  keeper_of_a_job
}

@test "a keeper ends with the loss of the lock: 79" {
  take --ttl 5s "$(fresh)"
  spawn keeper "$DLOCK" renew --every 200ms "$(fresh)"
  eventually 5s alive "$keeper_pid"
  timeout 20 env -u DLOCK_HOLDS "$DLOCK" force-release --yes "$(fresh)" 2>/dev/null 3>&- &
  local releaser=$!
  ends 10s keeper "exit 79"
  grep -q "revoked by $(id -un)@" "$T/keeper.err"
  run -79 "$DLOCK" renew "$(fresh)"
  "$DLOCK" release "$(fresh)"
  wait "$releaser"
  assert_no_keys

  take "$(fresh)"
  spawn keeper "$DLOCK" renew --every 200ms "$(fresh)"
  r del "dlock:$(fresh)" >/dev/null
  ends 10s keeper "exit 79"
  grep -q lost "$T/keeper.err"
  take "$(fresh)"
  spawn keeper "$DLOCK" renew --every 200ms "$(fresh)"
  kill -TERM "$keeper_pid"
  ends 5s keeper "signal 15"
  still_ours
  "$DLOCK" release "$(fresh)"
}

@test "a keeper rides out a store that is silent, until the lease is over by its clock: 79" {
  start_proxy
  export DLOCK_URL=$PROXY_URL
  take --ttl 6s "$(fresh)"
  spawn keeper "$DLOCK" -v renew --every 300ms "$(fresh)"
  eventually 5s file_has "$T/keeper.err" renewed
  proxy blackhole
  eventually 5s file_has "$T/keeper.err" 'trying again'
  proxy pass
  : >"$T/keeper.err"
  eventually 5s file_has "$T/keeper.err" renewed
  proxy blackhole
  ends 20s keeper "exit 79"
  grep -q 'the lease expires' "$T/keeper.err"
  proxy pass
  eventually 10s key_gone "$(fresh)"
}

@test "a keeper and a release ride out a store that refuses for a while" {
  take --ttl 20s "$(fresh)"
  spawn keeper "$DLOCK" renew -v --every 200ms --while $$ "$(fresh)"
  eventually 10s grep -q renewed "$T/keeper.err"
  r config set min-replicas-to-write 1
  eventually 10s grep -q 'trying again' "$T/keeper.err"
  r config set min-replicas-to-write 0
  : >"$T/keeper.err"
  eventually 10s grep -q renewed "$T/keeper.err"
  kill -TERM "$keeper_pid"
  ends 10s keeper "signal 15"
  r config set min-replicas-to-write 1
  spawn give "$DLOCK" release "$(fresh)"
  sleep 0.3
  r config set min-replicas-to-write 0
  ends 10s give "exit 0"
  assert_no_keys
}

@test "a store that cannot be reached is no verdict: 69" {
  take "$(fresh)"
  local store=${DLOCK_HOLDS%%|*}
  start_proxy
  proxy blackhole
  export DLOCK_HOLDS=${DLOCK_HOLDS/"$store"/"${PROXY_URL%/}/0"}
  for command in acquire renew release; do
    run -69 timeout 10 "$DLOCK" --url "$PROXY_URL" --connect-timeout 300ms "$command" "$(fresh)"
  done
  still_ours
  r del "dlock:$(fresh)" "dlock:holds:{dlock:$(fresh)}" >/dev/null
}
