#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redis+sentinel://: the sentinels are asked before each connection, and a hold survives a failover.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031  # *_pid come from spawn; '…' is for inner shells; every test is a shell of its own

load ../support/suite
suite ticker cli leases replicas sentinels

@test "F05: the master is killed while a lock is held: renewed at the new one, one notice, the command's code" {
  start_set 2
  start_sentinels
  dlock_run a --ttl 30s -k 500ms kept -- "$TICKER" "$TICKS" until "$T/go" code 6
  eventually 10s ticking
  local token now
  token=$(token_at 0 kept)
  kill -KILL "${SET_PIDS[0]}"
  eventually 30s file_has "$T/a.err" 'the master of "kept" is now '
  eventually 30s switched
  now=$(named_master)
  [ "$(token_at "$now" kept)" = "$token" ]
  eventually 20s renewed_at "$now" kept
  touch "$T/go"
  ends 10s a "exit 6"
  run -0 cat "$T/a.err"
  assert_output "dlock: the master of \"kept\" is now redis://127.0.0.1:${SET_PORTS[now]}/0 (was \
redis://127.0.0.1:${SET_PORTS[0]}/0); the lock is still held there"
  eventually 5s no_lock_at kept "$now"
  # Whoever comes now finds the new master, too.
  run -0 --separate-stderr "$DLOCK" run kept -- true
  [ -z "$stderr" ]
}
token_at() { on "$1" hvals "dlock:holds:{dlock:$2}" | grep -oE '"token":[0-9]+'; }
renewed_at() { [ "$(on "$1" pttl "dlock:$2")" -gt 28000 ]; }

@test "the sentinels' +switch-master wakes a holder whose master is frozen, long before its renewal" {
  start_set 1
  start_sentinels
  dlock_run a --ttl 60s --replicas 0 woken -- "$TICKER" "$TICKS" until "$T/go"
  eventually 10s ticking
  eventually 10s subscribed_to_switches
  freeze 0
  eventually 15s file_has "$T/a.err" 'the master of "woken" is now '
  touch "$T/go"
  ends 10s a "exit 0"
  thaw 0
}
subscribed_to_switches() {
  local port
  for port in "${SENTINEL_PORTS[@]}"; do
    ! redis-cli -p "$port" client list | grep -q ' sub=1 ' || return 0
  done
  return 1
}

# bats test_tags=nightly
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
  run -0 --separate-stderr "$DLOCK" run -v x -- true
  assert_stderr_has "a failover here takes up to 33s; a hold of 30s may end by it, --ttl 75s would outlive it"
  run -0 --separate-stderr "$DLOCK" run -v --ttl 75s x -- true
  ! grep failover <<<"$stderr" || fail "$stderr"
  kill -STOP "${SET_PIDS[1]}"
  run -69 --separate-stderr "$DLOCK" run -n --ttl 5s x -- touch "$MARKER"
  assert_stderr_has "only 0 of 1 replicas"
  assert_stderr_has "--replicas (0: wait for none)"
  assert_not_started
  run -0 "$DLOCK" run -n --replicas 0 x -- true
  kill -CONT "${SET_PIDS[1]}"
}

@test "a replica that joins a set during a hold has to confirm its next renewals" {
  start_set 0
  start_sentinels 30000
  hold_deaf joined -k 200ms
  SET_PORTS+=("$(free_port)")
  start_member 1 --replicaof 127.0.0.1 "$MASTER_PORT"
  eventually 20s replicas_online 1
  eventually 10s asked_for_copies
  freeze 1
  local at
  at=$(boot_ms)
  dead_before_the_end_of_the_lease "$at"
  grep -q 'only 0 of 1 replicas' "$T/a.err"
  thaw 1
}
asked_for_copies() { on 0 info commandstats | grep -q '^cmdstat_wait:'; }

# bats test_tags=nightly
@test "a sentinel that was reset and has forgotten the replicas does not make a master grant alone" {
  start_set 1
  start_sentinels 30000
  kill -KILL "${SENTINEL_PIDS[1]}" "${SENTINEL_PIDS[2]}" "${SET_PIDS[1]}"
  eventually 10s replicas_online 0
  sentinel 0 reset mymaster
  sentinel 0 master mymaster | grep -A 1 -x num-slaves | grep -qx 0
  run -69 --separate-stderr "$DLOCK" run -n --ttl 5s alone -- touch "$MARKER"
  assert_stderr_has "only 0 of 1 replicas"
  assert_not_started
  run -0 "$DLOCK" run -n --replicas 0 alone -- true
}

# The old master would renew, and says nothing about the lock but that it is a replica now.
# bats test_tags=nightly
@test "F03: a master that is thawed after its failover renews nothing, and its hold goes on at the new one" {
  start_set 2
  start_sentinels
  dlock_run a -v --ttl 30s -k 500ms thawed -- "$TICKER" "$TICKS" until "$T/go" code 6
  eventually 10s ticking
  freeze 0
  eventually 30s switched
  thaw 0
  eventually 30s file_has "$T/a.err" 'the master of "thawed" is now '
  eventually 20s renewed_at "$(named_master)" thawed
  touch "$T/go"
  ends 10s a "exit 6"
  ! grep -E 'lost "|READONLY' "$T/a.err" || fail "$(cat "$T/a.err")"
}

# bats test_tags=nightly
@test "the rights of the page suffice for a set and its sentinels, and each of a sentinel is asked for" {
  local i page words right
  page=$(sed 's/\\(ti/~/g; s/\\-/-/g' "$PROJECT/man/dlock-protocol.7")
  words=$(sed -n '/user of the sentinels themselves needs/,/dlock doctor/p' <<<"$page" | grep -oE '[+&][+]?[a-z|-]+')
  start_set 1
  start_sentinels 30000
  for i in 0 1; do
    grep '^ACL SETUSER' <<<"$page" | redis-cli -s "$T/$i.sock"
    on "$i" acl setuser dlock +role +wait
  done
  echo sesame >"$T/password"
  chmod 600 "$T/password"
  export DLOCK_SENTINEL_PASSWORD_FILE=$T/password
  DLOCK_URL="${DLOCK_URL/\/\//\/\/dlock:PASSWORD@}?sentinel_user=watcher"
  sentinel_words "$words"
  run -0 --separate-stderr calls_of_a_set
  assert_equal "$(refusals)" ""
  assert_equal "$(on 0 acl log)" ""
  for right in $words; do
    sentinel_words "$(grep -vxF -- "$right" <<<"$words")"
    calls_of_a_set || true
    [ -n "$(refusals)" ] || fail "no command needs $right"
  done
}
sentinel_words() { # WORDS
  local port
  for port in "${SENTINEL_PORTS[@]}"; do
    redis-cli -p "$port" acl deluser watcher
    # shellcheck disable=SC2086  # words
    redis-cli -p "$port" acl setuser watcher on '>sesame' resetchannels -@all $1
    redis-cli -p "$port" acl log reset
  done
}
refusals() {
  local port
  for port in "${SENTINEL_PORTS[@]}"; do redis-cli -p "$port" acl log; done
}
calls_of_a_set() {
  "$DLOCK" run --ttl 10s -n a -- sleep 1.5 && { "$DLOCK" --url "${DLOCK_URL/mymaster/other}" run -n a -- true || [ $? = 78 ]; }
}
