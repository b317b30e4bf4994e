#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: of three members one may die without a word to the command; without two of them no
# renewal counts, and the command ends before its lease does.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise ticker line store_cases etcd

setup_file() {
  set_up_file
  start_etcd 3
}
setup() {
  set_up
  clean_keys
}
teardown_file() { stop_etcd; }

@test "O01: the leader is killed during a run: the command goes on, and its status is its own" {
  local first
  dlock_run a --ttl 10s -k 500ms a -- sh -c 'echo in; until [ -e "$0/go" ]; do sleep 0.02; done; exit 7' "$T"
  eventually 10s file_has "$T/a.out"
  first=$(leader)
  kill_member "$first"
  # Longer than a renewal takes, which goes to another member now.
  sleep 5
  run -75 "$DLOCK" run -n a -- true
  run_member "$first"
  touch "$T/go"
  ends 10s a "exit 7"
  eventually 20s etcd_answers
}

# lease_of LOCK: the lease of its only key.
lease_of() { printf '%x' "$(e get -w json --prefix "$1/" | python3 -S -c 'import json, sys
print(json.load(sys.stdin)["kvs"][0]["lease"])')"; }
has_other_lease() { [ "$(lease_of "$1")" != "$2" ]; }

@test "O13: a leader that was stalled ends the leases that it knows: the hold has another by then" {
  local first old
  dlock_run a -v --ttl 6s a -- sh -c 'echo in; until [ -e "$0/go" ]; do sleep 0.02; done; exit 7' "$T"
  eventually 10s file_has "$T/a.out"
  old=$(lease_of a)
  eventually 10s file_has "$T/a.err" 'renewed "a"'
  [ "$(lease_of a)" = "$old" ]
  first=$(leader)
  signal_member "$first" STOP
  eventually 10s has_other_lease a "$old"
  signal_member "$first" CONT
  # What it then asks the others to do, if they have not revoked the lease yet.
  run e lease revoke "$old"
  touch "$T/go"
  ends 10s a "exit 7"
}

@test "a renewal by hand moves the hold to a lease that no earlier leader knows" {
  local old
  eval "$("$DLOCK" acquire a --ttl 1m)"
  old=$(lease_of a)
  "$DLOCK" renew a
  has_other_lease a "$old"
  run e lease revoke "$old"
  run -0 "$DLOCK" renew a
  run -0 "$DLOCK" release a
}

@test "the followers stand still: TERM before the lease ends, and 79" {
  local i first
  dlock_run a --ttl 6s a -- "$TICKER" "$TICKS" catch 15
  eventually 10s ticking
  first=$(leader)
  for i in 0 1 2; do [ "$i" = "$first" ] || signal_member "$i" STOP; done
  ends 12s a "exit 79"
  for i in 0 1 2; do signal_member "$i" CONT; done
  grep -q signal-15 "$TICKS" || fail "$(tail -2 "$TICKS")"
  eventually 20s etcd_answers
  run -0 "$DLOCK" run -w 20 a -- true
}

@test "a renewal by a leader that has just lost the others counts for nothing" {
  local i first port
  first=$(leader)
  read -r port _ <"$ETCD/$first.ports"
  export DLOCK_URL=etcd://127.0.0.1:$port
  eval "$("$DLOCK" acquire a --ttl 1m)"
  run -0 "$DLOCK" renew a
  # It leads for as long as it takes to notice, and says yes to a keep-alive.
  for i in 0 1 2; do [ "$i" = "$first" ] || signal_member "$i" STOP; done
  run -69 "$DLOCK" renew a
  for i in 0 1 2; do signal_member "$i" CONT; done
  eventually 20s "$DLOCK" release a
}

@test "waiters and holders go through the death of one member after the other" {
  local i
  hold a
  stand_all a 1 3
  for i in 0 1 2; do
    kill_member "$i"
    sleep 1
    run_member "$i"
    eventually 20s etcd_answers
  done
  let_go
  eventually 30s entered 3
}
