#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: zookeeper:// keeps the locks in the nodes of Curator's recipes: one at a time, first come
# first served, and a command never outlives the lock when that server dies, hangs or loses its answers.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise ticker line store_cases pool zookeeper

setup_file() {
  set_up_file
  start_zookeeper
}
setup() {
  set_up
  zk clean
}
teardown_file() { stop_zookeeper; }
kill_store() { kill_server 0; }
run_store() { run_server 0 && eventually 30s zookeeper_answers; }
signal_store() { signal_server 0 "$1"; }
wipe_store() { rm -r "$ZOOKEEPER/0/data/version-2"; }

@test "forty at once increment one by one, and neither a lock nor a node is left" {
  count_in_parallel 40 1
  run -0 "$DLOCK" list
  assert_output ""
  no_nodes counter
  eventually 20s empty_tree # the folder as well
}

@test "waiters enter in the order of their arrival, and inspect lists them" { waiters_enter_in_order; }
@test "a first waiter that is frozen is passed over, one that was killed as well" { first_waiter_is_passed_over 6s; }

@test "a waiter that was killed does not keep run -n from a free lock" { dead_waiter_keeps_no_free_lock; }

@test "renewals keep the lock, and its session, for longer than its lease" {
  local first
  dlock_run a --ttl 2s -k 200ms a -- sh -c 'echo; until [ -e "$0/go" ]; do sleep 0.02; done; exit 7' "$T"
  eventually 10s file_has "$T/a.out"
  first=$(zk owner "$(node_of a)")
  sleep 5
  run -75 "$DLOCK" run -n a -- touch "$MARKER"
  [ "$(zk owner "$(node_of a)")" = "$first" ]
  touch "$T/go"
  ends 10s a "exit 7"
  assert_not_started
}

@test "killed with its guard, a holder loses the lock when its session ends" { killed_with_its_guard; }
@test "O02: a server that is killed and comes back in time stops no command; tokens grow" { server_comes_back_in_time; }
@test "O11: ZooKeeper: all data is lost, and tokens grow" { store_is_replaced; }
@test "O02: a server that stands still for two leases: TERM, 79, and the lock is free when it goes on" { server_stands_still; }
@test "renew --while ends with the release of its hold, and waits for no renewal" { keeper_ends_with_the_release; }
@test "force-release stops the holder at once; the waiter runs after it" { force_release_stops; }

@test "O02: whose session is ended, or whose node is deleted, stops its command: 79" {
  dlock_run a --ttl 30s a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  zk expire "$(zk owner "$(node_of a)")"
  ends 5s a "exit 79"
  dlock_run b --ttl 30s b -- "$TICKER" "$T/ticks-b"
  eventually 10s ticking "$T/ticks-b"
  zk delete "$(node_of b)"
  ends 5s b "exit 79"
}

@test "O02: whose session moved to another connection goes on, and renews it" {
  dlock_run a --ttl 3s -k 200ms a -- sh -c 'echo; until [ -e "$0/go" ]; do sleep 0.02; done; exit 7' "$T"
  eventually 10s file_has "$T/a.out"
  zk move "$(zk owner "$(node_of a)")"
  sleep 4 # longer than the lease
  touch "$T/go"
  ends 10s a "exit 7"
}

@test "a waiter whose session is ended stands in line anew, and enters" {
  hold a
  stand a 1
  stand a 2
  zk expire "$(zk owner "/a/$(nodes_of a | by_number | sed -n 2p)")"
  eventually 10s stands a 2
  let_go
  eventually 20s entered 2
}
by_number() { sed -E 's/(.*)(.{10})$/\2 \1/' | sort | sed -E 's/(.*) (.*)/\2\1/'; }

@test "two names in either order, again and again: all run" { names_in_either_order; }
@test "one of three names is held, and a waiter gets the first that is free" { one_of_several; }

@test "a nested run that outlives its parent keeps the lock, in the same session, until it ends" {
  nested_run_outlives_its_parent
}

@test "a nested run renews the session of its parent" {
  local first
  dlock_run a --ttl 2s -k 200ms a -- sh -c 'setsid "$DLOCK" run --ttl 2s -k 200ms a -- sh -c "touch \"\$0/in\"
    until [ -e \"\$0/go\" ]; do sleep 0.02; done; exit 7" "$0" 2>>"$0/nested.err" &
    until [ -e "$0/in" ]; do sleep 0.02; done' "$T"
  eventually 10s test -e "$T/in"
  first=$(zk owner "$(node_of a)")
  ends 10s a "exit 0"
  sleep 4 # two leases without the parent
  [ "$(zk owner "$(node_of a)")" = "$first" ]
  run -75 "$DLOCK" run -n a -- touch "$MARKER"
  touch "$T/go"
  run -0 "$DLOCK" run -w 10 a -- true
  assert_not_started
}

@test "across steps, nested, several names, slots, readers and once" { all_that_a_lock_can 40s; }

# before WORD…: dlock reaches the server through a proxy that loses the answer to WORD….
before() {
  python3 "$PROGRAMS/zk_proxy.py" "$(port_of 0)" "$1" "$T/proxy.log" "${@:2}" >"$T/proxy.port" 3>&- &
  STARTED+=($!)
  eventually 10s file_has "$T/proxy.port"
  PROXY=zookeeper://127.0.0.1:$(cat "$T/proxy.port")
}
lost_one() { [ "$(cat "$T/proxy.log")" = lost ] || fail "no answer was lost"; }
# granted_once [WORD [OPTION…]]: the answer to the creation of the node was lost.
granted_once() {
  before create ${1:+"$1"}
  run -7 "$DLOCK" --url "$PROXY" run -w 10 --ttl 4s "${@:2}" a -- sh -c '
    for name in a b; do python3 "$0" "$1" children "/$name"; done >"$2"; exit 7' "$PROGRAMS/zk.py" "$(port_of 0)" "$T/nodes"
  lost_one
  [ "$(wc -l <"$T/nodes")" = 1 ]
  no_nodes a && no_nodes b
}

@test "the answer to the claim is lost: it is granted once, and no node is left" { granted_once; }
@test "the answers to the claim and to the connect are lost: it is granted once, and no node is left" { granted_once all; }
@test "the answer to a claim of one of two names is lost: it holds one, and no node is left" { granted_once "" --or b; }

@test "the answer to the claim is lost, and no other comes: 69, and its node goes with its session" {
  before create end
  dlock_run a --url "$PROXY" -n --ttl 4s a -- touch "$MARKER"
  eventually 10s file_has "$T/proxy.log"
  run ! no_nodes a
  run -0 "$DLOCK" run -w 10 a -- true
  ends 10s a "exit 69"
  assert_not_started
}

@test "the answer to a renewal is lost: the command goes on, and its status is its own" {
  before check
  renewal_is_unanswered
}

@test "the answer to a waiter's turn is lost: it enters all the same" {
  before set
  hold a
  "$DLOCK" --url "$PROXY" run -w 20 a -- true 2>"$T/waiter.err" 3>&- &
  WAITERS+=($!)
  eventually 10s stands a 1
  let_go
  wait "${WAITERS[0]}" || fail "$(cat "$T/waiter.err")"
  lost_one
  no_nodes a
}

@test "the answer to the release is lost: the lock is free, and the status is the command's" {
  before delete
  run -7 "$DLOCK" --url "$PROXY" run a -- sh -c 'exit 7'
  lost_one
  no_nodes a
}

# refused WORD ARGUMENT…: with 64 and this word in the text.
refused() {
  local word=$1
  shift
  run -64 --separate-stderr "$DLOCK" "$@"
  assert_stderr_has "$word"
}

@test "what a session cannot keep is refused: 64, and why" {
  refused "at most 40s" run --ttl 5m a -- touch "$MARKER"
  refused "at most 40s" acquire --ttl 15m a
  refused "min-hold" run --min-hold 1m a -- touch "$MARKER"
  refused "freeze: a lock there ends with the session" freeze --for 1h a
  refused "freeze: a lock there ends with the session" unfreeze a
  assert_not_started
  run -0 "$DLOCK" run --ttl 40s a -- true
}

@test "what is refused, and with which status" {
  run -69 "$DLOCK" --url "zookeeper://127.0.0.1:1" --connect-timeout 1s run a -- touch "$MARKER"
  run -64 --separate-stderr "$DLOCK" --url "zookeeper://ann:s3cret@127.0.0.1?colour=red" run a -- touch "$MARKER"
  refute_stderr_has s3cret
  run -64 "$DLOCK" --url "zookeeper://127.0.0.1/a//b" run a -- touch "$MARKER"
  run -64 "$DLOCK" run dlock-done -- touch "$MARKER"
  run -64 "$DLOCK" run zookeeper -- touch "$MARKER"
  run -0 "$DLOCK" --url "$DLOCK_URL/app" run zookeeper -- true
  assert_not_started
}

@test "a server that is no ZooKeeper is told so: 69" {
  fake_server garbage
  run -69 "$DLOCK" --url "zookeeper://127.0.0.1:$FAKE_PORT" run a -- touch "$MARKER"
  assert_output --partial "does not speak as ZooKeeper does"
  assert_not_started
}

@test "below a path of the URL the names are others" {
  dlock_run a --url "$DLOCK_URL/app/locks" a -- sh -c 'echo; until [ -e "$0/go" ]; do sleep 0.02; done' "$T"
  eventually 10s file_has "$T/a.out"
  [ "$(nodes_of app/locks/a | wc -l)" = 1 ]
  run -75 "$DLOCK" --url "$DLOCK_URL/app/locks" run -n a -- touch "$MARKER"
  run -0 "$DLOCK" run -n a -- true
  run -0 "$DLOCK" --url "$DLOCK_URL/app/locks" list
  assert_output --partial a
  touch "$T/go"
  ends 10s a "exit 0"
  assert_not_started
}

@test "a name is the name of a node, with what ZooKeeper refuses in percent" {
  local name node
  while read -r node name; do
    hold "$name"
    run -0 zk children /
    assert_line "$node"
    [ "$(nodes_of "$node" | wc -l)" = 1 ]
    run -75 "$DLOCK" run -n "$name" -- touch "$MARKER"
    run -0 "$DLOCK" list --json
    assert_equal "$(json 'd["locks"][0]["name"]' <<<"$output")" "$name"
    let_go
  done <<'NAMES'
team%2fjob team/job
%2e .
%2e%2e ..
a%25b a%b
grün-日本 grün-日本
%f0%9f%98%80 😀
NAMES
  assert_not_started
}

@test "the nodes are those of Curator, or with layout=kazoo those of kazoo" {
  look() { run -0 "$DLOCK" "${@:2}" a -- python3 -S "$PROGRAMS/zk.py" "$(port_of 0)" children /a; assert_output --regexp "$1"; }
  local uuid='[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
  look "^_c_$uuid-lock-[0-9]{10}$" run
  look "^_c_$uuid-__WRIT__[0-9]{10}$" run -x
  look "^_c_$uuid-__READ__[0-9]{10}$" run -s
  look "^_c_$uuid-__SLOT__[0-9]{10}$" run --slots 2
  look "^[0-9a-f]{32}__lock__[0-9]{10}$" --url "$DLOCK_URL?layout=kazoo" run
  look "^[0-9a-f]{32}__lock__[0-9]{10}$" --url "$DLOCK_URL?layout=kazoo" run -x
  look "^[0-9a-f]{32}__rlock__[0-9]{10}$" --url "$DLOCK_URL?layout=kazoo" run -s
}

@test "O12: the last number of a waiter ends no hold, and hides no lock from list" {
  dlock_run a --ttl 2s -k 200ms a -- sh -c 'until [ -e "$0/go" ]; do sleep 0.02; done; exit 7' "$T"
  eventually 10s test -n "$(nodes_of a)"
  zk create /a/_c_00-lock-2000000001 other
  sleep 2.5
  run -0 "$DLOCK" list
  assert_output --partial a
  run -0 "$DLOCK" inspect -q a
  touch "$T/go"
  ends 10s a "exit 7"
  zk delete /a/_c_00-lock-2000000001
}

# bats test_tags=nightly
@test "O12: a folder that has used up its numbers begins anew when it is empty, and not before" {
  zk create /used ""
  kill_store
  run_store
  kill_store # the snapshot of that start has the folder
  python3 "$PROGRAMS/zk_numbers.py" "$ZOOKEEPER/0/data/version-2" /used 1999999999
  run_store
  dlock_run a used -- sh -c 'until [ -e "$0/go" ]; do sleep 0.02; done; exit 7' "$T"
  eventually 10s has_number used 1999999999
  run -69 --separate-stderr "$DLOCK" run -w 3 used -- touch "$MARKER"
  assert_stderr_has "used up"
  run -75 "$DLOCK" run -n used -- touch "$MARKER"
  touch "$T/go"
  ends 10s a "exit 7"
  run -0 "$DLOCK" run -n used -- sh -c 'python3 "$0" "$1" children /used' "$PROGRAMS/zk.py" "$(port_of 0)"
  assert_output --regexp '-lock-0000000000$'
}
has_number() { [[ $(nodes_of "$1") = *-lock-"$2" ]]; }

@test "a folder of another user: 77 without its password, and with a wrong one; it works with the right one" {
  local ann=zookeeper://ann@127.0.0.1
  zk create /own "" ann:s3cret
  run -77 "$DLOCK" --url "$DLOCK_URL/own" run a -- touch "$MARKER"
  run -77 --separate-stderr env DLOCK_PASSWORD=wr0ng "$DLOCK" --url "$ann:$(port_of 0)/own" run a -- touch "$MARKER"
  refute_stderr_has wr0ng
  assert_not_started
  run -0 env DLOCK_PASSWORD=s3cret "$DLOCK" --url "$ann:$(port_of 0)/own" run --once-per 1h a -- touch "$T/ran"
  [ -e "$T/ran" ]
  run -0 --separate-stderr "$DLOCK" --url "zookeeper://ann:s3cret@127.0.0.1:$(port_of 0)/own" run a -- true
  refute_stderr_has s3cret
}

@test "the rights of the page to a folder suffice, and each is needed by a command" {
  local missing url at
  at=$(port_of 0)
  for missing in "" c r; do
    url=zookeeper://ann:s3cret@127.0.0.1:$at/rights$missing
    zk create "/rights$missing" "" ann:s3cret "$(tr -d "$missing" <<<cdr)"
    export DLOCK_URL=$url
    case $missing in
      c) run -77 "$DLOCK" run a -- touch "$MARKER" ;;
      r) run -0 "$DLOCK" run a -- true && run -77 "$DLOCK" list ;;
      *)
        run -0 "$DLOCK" run --once-per 1h a -- "$DLOCK" list
        assert_line --regexp '^a: held by '
        run -0 "$DLOCK" run -x --and b c -- true
        run -0 "$DLOCK" doctor
        ;;
    esac
  done
  # To delete is for a folder whose numbers are used up.
  assert_not_started
}

@test "with acl=private the node of a lock that another user made first is refused, and told by doctor" {
  local ann
  local -x DLOCK_PASSWORD=s3cret
  ann=zookeeper://ann@127.0.0.1:$(port_of 0)
  zk create /first ""
  zk create /first/a ""
  run -77 --separate-stderr "$DLOCK" --url "$ann/first?acl=private" run a -- touch "$MARKER"
  assert_stderr_has 'no other user may have rights to the node /first/a (world:anyone:cdrwa)'
  run -77 "$DLOCK" --url "$ann/first?acl=private" run --and b a -- touch "$MARKER"
  assert_not_started
  # A note of another would be a success that never was.
  zk create /first/dlock-done ""
  zk create /first/dlock-done/b "" mallory:s3cret
  run -77 --separate-stderr "$DLOCK" --url "$ann/first?acl=private" run b -- touch "$MARKER"
  zk create /first/dlock-done/c ""
  run -77 --separate-stderr "$DLOCK" --url "$ann/first?acl=private" run c -- touch "$MARKER"
  assert_stderr_has 'the node /first/dlock-done/c (world:anyone:cdrwa)'
  assert_not_started
  run -0 "$DLOCK" --url "$ann/first?acl=private" run d -- true
  run -0 "$DLOCK" --url "$ann/first" run a -- true
  run "$DLOCK" --url "$ann/first" doctor
  assert_line --regexp '^W folder .*other users have rights to /first: world:anyone:cdrwa'
  run "$DLOCK" --url "$ann/first?acl=private" doctor
  assert_line --regexp '^i folder '
}

@test "with acl=private a folder that another user puts there between look and claim is not used" {
  local -x DLOCK_PASSWORD=s3cret
  local url
  zk create /between ""
  run -0 "$DLOCK" --url "zookeeper://ann@127.0.0.1:$(port_of 0)/between?acl=private" run a -- true
  before create first sh -c 'python3 "$0" "$1" delete /between/a; python3 "$0" "$1" create /between/a "" && echo lost >"$2"' \
    "$PROGRAMS/zk.py" "$(port_of 0)" "$T/proxy.log"
  url="${PROXY/127/ann@127}/between?acl=private"
  run -77 --separate-stderr "$DLOCK" --url "$url" run a -- touch "$MARKER"
  assert_stderr_has 'no other user may have rights to the node /between/a (world:anyone:cdrwa)'
  lost_one
  assert_not_started
}

@test "with acl=private each user has locks of its own in one folder, and all read one epoch" {
  local ann=zookeeper://ann@127.0.0.1 bob=zookeeper://bob@127.0.0.1 at
  at=$(port_of 0)/shared-by-two
  zk create /shared-by-two "" # open to all
  local -x DLOCK_PASSWORD=s3cret
  run -0 "$DLOCK" --url "$ann:$at?acl=private" run a -- true
  run -0 --separate-stderr "$DLOCK" --url "$bob:$at?acl=private" run b -- sh -c 'echo "$DLOCK_TOKEN"'
  [ "$output" -gt $(($(date +%s) * 1000000 - 60000000)) ]
  run -0 "$DLOCK" --url "$bob:$at" run c -- true
  dlock_run a --url "$ann:$at?acl=private" mine -- sh -c 'until [ -e "$0" ]; do sleep 0.05; done' "$T/go"
  eventually 10s sh -c '"$0" --url "$1" list | grep -q "^mine: held by "' "$DLOCK" "$ann:$at?acl=private"
  run -0 "$DLOCK" --url "$bob:$at" run d -- "$DLOCK" --url "$bob:$at" list
  assert_line --regexp '^mine: held by a foreign lock \(unreadable; .*NoAuth'
  assert_line --regexp '^d: held by '
  touch "$T/go"
  ends 10s a "exit 0"
}

@test "doctor has the identity of a folder, the same each time; a root alone has none" {
  run "$DLOCK" doctor
  assert_line --partial 'identity: not seen: without a folder in the URL'
  export DLOCK_URL=${DLOCK_URL%/}/team
  "$DLOCK" run "$(fresh)" -- true
  run "$DLOCK" doctor
  assert_line --regexp '^identity: [0-9a-f]{12}: must be the same'
  assert_line "$("$DLOCK" doctor | grep ^identity:)"
}

sessions_left() { [ "$(zk sessions)" -le "$1" ]; } # those of others end meanwhile
@test "no session stays at the server behind runs, refusals, waiters and nested runs" {
  local before
  before=$(zk sessions)
  run -0 "$DLOCK" run --ttl 30s a -- sh -c '"$DLOCK" run --ttl 30s a -- true && "$DLOCK" run --ttl 30s b -- true'
  hold a --ttl 30s
  run -75 "$DLOCK" run --ttl 30s -n a -- true
  run -75 "$DLOCK" run --ttl 30s -w 500ms a -- true
  run -75 "$DLOCK" run --ttl 30s b -- "$DLOCK" run --ttl 30s -n a -- true
  run -0 "$DLOCK" inspect -q a
  let_go
  eventually 5s sessions_left "$before"
}
