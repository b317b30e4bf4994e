#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: etcd:// keeps the locks as etcdctl does: one at a time, first come first served, and a
# command never outlives the lock when that server dies, hangs or loses its answers.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise ticker line store_cases pool supersede etcd

setup_file() {
  set_up_file
  start_etcd
}
setup() {
  set_up
  clean_keys
}
teardown_file() { stop_etcd; }
kill_store() { kill_member 0; }
run_store() { run_member 0 && eventually 20s etcd_answers; }
signal_store() { signal_member 0 "$1"; }
wipe_store() { rm -r "$ETCD/0"; }

@test "forty at once increment one by one, and neither a lock nor a key is left" {
  count_in_parallel 40 1
  run -0 "$DLOCK" list
  assert_output ""
  run -0 e get --prefix --keys-only ''
  assert_output "dlock-epoch"
}

@test "waiters enter in the order of their arrival, and inspect lists them" { waiters_enter_in_order; }
@test "a first waiter that is frozen is passed over, one that was killed as well" { first_waiter_is_passed_over 6s; }

@test "a waiter that was killed does not keep run -n from a free lock" { dead_waiter_keeps_no_free_lock; }

@test "renewals keep the lock for longer than its lease" {
  dlock_run a --ttl 2s -k 200ms a -- sh -c 'until [ -e "$0/go" ]; do sleep 0.02; done; exit 7' "$T"
  sleep 5
  run -75 "$DLOCK" run -n a -- touch "$MARKER"
  touch "$T/go"
  ends 10s a "exit 7"
  assert_not_started
}

@test "killed with its guard, a holder loses the lock when its lease ends; etcdctl waits as long" {
  dlock_run a --ttl 2s a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  etcdctl_run other a true
  eventually 10s two_in_line # the holder's key, and that of etcdctl
  kill -KILL "$(pgrep -P "$a_pid" -x lease-guard)" "$a_pid"
  run -0 "$DLOCK" run -w 20 a -- true
  ends 10s other "exit 0"
}
two_in_line() { [ "$(keys_of a | wc -l)" = 2 ]; }

@test "O01: a server that is killed and comes back in time stops no command; tokens grow" { server_comes_back_in_time; }
@test "O11: etcd: all data is lost, and tokens grow" { store_is_replaced; }
@test "a server that stands still for two leases: TERM, 79, and the lock is free when it goes on" { server_stands_still; }
@test "renew --while ends with the release of its hold, and waits for no renewal" { keeper_ends_with_the_release; }
leases() { e lease list | sed 1d | sort; }
no_new_lease() { [ -z "$(leases | comm -13 "$T/before" -)" ]; }
@test "no lease stays at the server behind runs, refusals, waiters and nested runs" {
  leases >"$T/before"
  run -0 "$DLOCK" run --ttl 30s a -- sh -c '"$DLOCK" run --ttl 1m a -- true && "$DLOCK" run b -- true'
  hold a --ttl 30s
  run -75 "$DLOCK" run -n a -- true
  run -75 "$DLOCK" run -w 500ms a -- true
  stand a 1
  let_go
  eventually 10s entered 1
  eventually 10s no_keys a
  eventually 5s no_new_lease
}

@test "force-release stops the holder at once; the waiter runs after it" { force_release_stops; }

@test "O01: whose lease is revoked, or whose key is deleted, stops its command: 79" {
  local lease
  dlock_run a --ttl 30s a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  lease=$(keys_of a)
  e lease revoke "${lease#a/}"
  ends 5s a "exit 79"
  dlock_run b --ttl 30s b -- "$TICKER" "$TICKS"
  eventually 10s file_has "$T/b.pid"
  eventually 10s not_free b
  e del --prefix b/
  ends 5s b "exit 79"
}
not_free() { ! no_keys "$1"; }

@test "two names in either order, again and again: all run" { names_in_either_order; }
@test "one of three names is held, and a waiter gets the first that is free" { one_of_several; }
@test "a nested run that outlives its parent keeps the lock until it ends" { nested_run_outlives_its_parent; }

@test "a waiter gets its turn although an older lock stands below the name of its lock" {
  dlock_run below team/ab -- sh -c 'until [ -e "$0/below" ]; do sleep 0.02; done' "$T"
  eventually 10s stand_below_team 1
  dlock_run holder team -- sh -c 'until [ -e "$0/go" ]; do sleep 0.02; done' "$T"
  eventually 10s stand_below_team 2
  dlock_run waiter team -- true
  eventually 10s stand_below_team 3
  touch "$T/go"
  ends 10s waiter "exit 0"
  touch "$T/below"
  ends 10s below "exit 0"
}
stand_below_team() { [ "$(e get --prefix team/ --keys-only | grep -c .)" = "$1" ]; }

@test "across steps, nested, several names, slots, readers, kept and once" {
  all_that_a_lock_can
  run -0 "$DLOCK" run --min-hold 5s m -- true
  run -75 "$DLOCK" run -n m -- true
}

# before WORD: dlock reaches etcd through a proxy that loses the answer to WORD.
before() {
  python3 "$PROGRAMS/http_proxy.py" "$(cut -d' ' -f1 "$ETCD/0.ports")" "$1" "$T/proxy.log" \
    >"$T/proxy.port" 3>&- &
  STARTED+=($!)
  eventually 10s file_has "$T/proxy.port"
  PROXY=etcd://127.0.0.1:$(cat "$T/proxy.port")
}

# granted_once WORD
granted_once() {
  before "$1"
  run -7 "$DLOCK" --url "$PROXY" run -w 10 a -- sh -c 'etcdctl get --prefix a/ --keys-only | grep -c . >"$0"; exit 7' "$T/count"
  [ -s "$T/proxy.log" ]
  [ "$(cat "$T/count")" = 1 ]
  no_keys a
}
@test "the answer to the lease of a claim is lost: it is granted once, and no key is left" { granted_once lease/grant; }
@test "the answer to the write of a claim is lost: it is granted once, and no key is left" { granted_once kv/txn; }

@test "the answer to a renewal is lost: the command goes on, and its status is its own" {
  before keepalive
  renewal_is_unanswered
  no_keys a
}

@test "the answer to the release is lost: the lock is free, and the status is the command's" {
  before request_delete_range
  run -7 "$DLOCK" --url "$PROXY" run a -- sh -c 'exit 7'
  [ -s "$T/proxy.log" ]
  no_keys a
}

@test "what is refused, and with which status" {
  run -69 "$DLOCK" --url "etcd://127.0.0.1:1" --connect-timeout 1s run a -- touch "$MARKER"
  run -64 --separate-stderr "$DLOCK" --url "etcd://ann:s3cret@127.0.0.1?colour=red" run a -- touch "$MARKER"
  refute_stderr_has s3cret
  run -64 "$DLOCK" run dlock-done/a -- touch "$MARKER"
  run -78 "$DLOCK" --url "etcd://127.0.0.1:$(cut -d' ' -f2 "$ETCD/0.ports")" run a -- touch "$MARKER"
  assert_not_started
}

# start_other_etcd [OPTION…]: one more etcd for a test; sets OTHER (its port) and OTHER_URL.
start_other_etcd() {
  local peer
  OTHER=$(free_port) peer=$(free_port) OTHER_URL=etcd://127.0.0.1:$OTHER
  etcd --data-dir "$T/other" --listen-client-urls "http://127.0.0.1:$OTHER" \
    --advertise-client-urls "http://127.0.0.1:$OTHER" --listen-peer-urls "http://127.0.0.1:$peer" \
    --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
    --initial-cluster "default=http://127.0.0.1:$peer" --unsafe-no-fsync "$@" >"$T/other.log" 2>&1 3>&- &
  STARTED+=($!)
  eventually 20s o get none
}
o() { ETCDCTL_ENDPOINTS=127.0.0.1:$OTHER e "$@"; }

@test "an etcd without its gateway: 78, which says so" {
  start_other_etcd --enable-grpc-gateway=false
  run -78 --separate-stderr "$DLOCK" --url "$OTHER_URL" run a -- touch "$MARKER"
  assert_stderr_has gateway
  assert_not_started
}

# The role of the page, and a user of it.
start_etcd_with_users() {
  local words
  start_other_etcd
  o role add jobs
  while read -ra words; do o "${words[@]//order-/job-}"; done < <(sed -n 's/\\-/-/g; s/^etcdctl \(role grant\)/\1/p' "$PROJECT/man/dlock-stores.7")
  [[ $(o role get jobs) == *dlock-epoch* ]]
  o user add root:s3cret && o user add ann:s3cret && o user grant-role ann jobs
  o user grant-role root root || { o role add root && o user grant-role root root; }
  o auth enable
}

@test "an etcd with users: 77 without a password, with a wrong one, and without a right" {
  local ann=etcd://ann@127.0.0.1
  start_etcd_with_users
  run -77 "$DLOCK" --url "$OTHER_URL" run job-a -- touch "$MARKER"
  run -77 --separate-stderr env DLOCK_PASSWORD=wr0ng "$DLOCK" --url "$ann:$OTHER" run job-a -- touch "$MARKER"
  refute_stderr_has wr0ng
  run -77 env DLOCK_PASSWORD=s3cret "$DLOCK" --url "$ann:$OTHER" run other -- touch "$MARKER"
  assert_not_started
  run -0 env DLOCK_PASSWORD=s3cret "$DLOCK" --url "$ann:$OTHER" run --once-per 1h job-a -- touch "$T/ran"
  [ -e "$T/ran" ]
  run -0 --separate-stderr env DLOCK_PASSWORD=s3cret "$DLOCK" --url "$ann:$OTHER" doctor job-a
  assert_output --partial "acquire"
  run -0 --separate-stderr env DLOCK_PASSWORD=s3cret "$DLOCK" --url "$ann:$OTHER" doctor
  assert_output --partial "dlock doctor NAME"
  run -77 --separate-stderr env DLOCK_PASSWORD=s3cret "$DLOCK" --url "$ann:$OTHER" list
  assert_stderr_has "dlock list 'PREFIX*'"
  run -0 env DLOCK_PASSWORD=s3cret "$DLOCK" --url "$ann:$OTHER" run job-b -- \
    env DLOCK_PASSWORD=s3cret "$DLOCK" --url "$ann:$OTHER" list 'job-*'
  assert_line --regexp '^job-b: held by '
  # To read the epoch is enough once it is there, though it is late.
  o --user root:s3cret put dlock-epoch 7
  o --user root:s3cret role revoke-permission jobs dlock-epoch
  o --user root:s3cret role grant-permission jobs read dlock-epoch
  run -0 env DLOCK_PASSWORD=s3cret "$DLOCK" --url "$ann:$OTHER" run job-a -- sh -c '[ "$DLOCK_TOKEN" -lt 10000 ]'
  run -77 --separate-stderr env DLOCK_PASSWORD=s3cret "$DLOCK" --url "$ann:$OTHER" run other -- true
  assert_stderr_has dlock-epoch
}

# bats test_tags=nightly
@test "the rights of the page suffice, and each is needed by a command" {
  local -A GRANTED=()
  start_etcd_with_users
  no_right_too_many "read job-" "write job-" "read dlock-done/job-" "write dlock-done/job-" "read dlock-epoch" "write dlock-epoch"
}
grant_all_but() { # RIGHT
  local key which prefix
  for key in job- dlock-done/job- dlock-epoch; do
    which="readwrite" prefix=true
    [ "$1" != "read $key" ] || which="write"
    [ "$1" != "write $key" ] || which="read"
    [ "$key" != dlock-epoch ] || prefix=false
    [ "$which" != "${GRANTED[$key]:-}" ] || continue
    as_root role grant-permission jobs $which --prefix=$prefix "$key"
    GRANTED[$key]=$which
  done
}
as_root() { o --user root:s3cret "$@"; }
all_calls() { # WORD: without a message, as a note that cannot be written is one
  as_root del dlock-epoch
  DLOCK_PASSWORD=s3cret "$DLOCK" --url "etcd://ann@127.0.0.1:$OTHER" run --once-per 1h "job-$1" -- true 2>"$T/said" &&
    [ ! -s "$T/said" ]
}

@test "the last run: who, when, how it ended; only with --keep-last" {
  run -0 "$DLOCK" run job -- true
  run -0 "$DLOCK" inspect job
  refute_output --partial 'last run'
  tells_the_last_run --keep-last 1h
}

@test "freeze, unfreeze: free and held locks, refusals, list and inspect" {
  freezes
  # A release keeps a lock that was frozen since its grant, for programs that do not know dlock.
  run -0 "$DLOCK" run kept -- "$DLOCK" freeze --for 1h kept
  [ -n "$(keys_of kept)" ]
}

@test "supersede: the newest run wins; a holder that said so is revoked" {
  supersedes
  supersedes_the_holder
}

@test "a lock that a newer dlock wrote is refused before anything is changed" {
  e put --lease="$(e lease grant 60 | cut -d' ' -f2)" a/694d7 '{"layout":2}' >/dev/null
  newer_dlock_is_refused
  [ "$(e get --prefix a/ --keys-only | grep -c .)" = 1 ]
}

@test "the notes of successes are no holders: a lock of their name is refused" {
  run -0 "$DLOCK" run --once-per 1h 694d -- true
  run -64 --separate-stderr "$DLOCK" run -n dlock-done -- touch "$MARKER"
  assert_stderr_has 'cannot keep lock "dlock-done"'
  run -64 "$DLOCK" inspect dlock-done
  run -0 "$DLOCK" list
  [[ $output != *dlock-done* ]]
  assert_not_started
}

@test "doctor has the identity of the store, the same each time" {
  "$DLOCK" run "$(fresh)" -- true
  run "$DLOCK" doctor
  assert_line --regexp '^identity: [0-9a-f]{12}: must be the same'
  assert_line "$("$DLOCK" doctor | grep ^identity:)"
}
