#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redis+cluster://: each lock is at the owner of its slot, whichever node is asked first.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031  # each test has its own STARTED; *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite ticker cli leases cluster

setup_file() {
  set_up_file
  start_cluster "$BATS_FILE_TMPDIR"
  keep_cluster
}
setup() {
  set_up
  find_cluster
}
teardown_file() {
  find_cluster
  stop_cluster
}

@test "every kind of claim works from every node, and for the owners of all slots" {
  local i name
  for i in 0 1 2; do
    export DLOCK_URL
    DLOCK_URL=$(seed $i)
    for name in a b c d; do
      run -0 --separate-stderr "$DLOCK" run $name -- "$DLOCK" run $name -- true
      assert_no_stderr
    done
    run -0 "$DLOCK" run -s a -- "$DLOCK" run -s a -- true
    run -0 "$DLOCK" run -x b -- true
    run -0 "$DLOCK" run --slots 2 c -- true
    run -0 "$DLOCK" run --and '{t}b' '{t}a' -- true
    run -0 "$DLOCK" run --or '{t}b' '{t}a' -- true
    run -0 "$DLOCK" run --once-per 1m "once$i" -- true
    run -0 "$DLOCK" run --once-per 1m "once$i" -- false
    eval "$("$DLOCK" acquire step)"
    run -0 "$DLOCK" renew step
    run -0 "$DLOCK" release step
    run -1 "$DLOCK" inspect -q step
  done
  for i in 0 1 2; do
    [ "$(node $i dbsize)" -gt 0 ]
    run -1 grep -vE '^(redisson_lock_token|dlock:released|dlock:done|dlock:last):' <<<"$(node $i keys '*')"
  done
}

@test "a connection is redirected at most once, and a second one goes to the owner at once" {
  local owner other before
  owner=$(owner_of once)
  other=$(((owner + 1) % 3))
  before=$(errors_moved)
  DLOCK_URL=$(seed "$other") run -0 "$DLOCK" run once -- true
  [ "$(errors_moved)" = $((before + 1)) ]
  DLOCK_URL=$(seed "$owner") run -0 "$DLOCK" run once -- true
  [ "$(errors_moved)" = $((before + 1)) ]
}
# How often the nodes have answered MOVED.
errors_moved() {
  local i
  for i in 0 1 2; do node $i info errorstats; done | tr -d '\r' |
    awk -F= '/^errorstat_MOVED/ {n += $2} END {print n + 0}'
}

@test "F07: names in several slots, and braces that are no tag: 64; a database: 78; nothing is sent" {
  local name before
  before=$(commands)
  run -64 --separate-stderr "$DLOCK" run --and b a -- touch "$MARKER"
  assert_one_line
  assert_stderr_has '"a" and "b" are in different slots of this cluster ('
  assert_stderr_has 'give them a common tag, as in "{t}a" and "{t}b", or nest'
  run -64 --separate-stderr "$DLOCK" run --or b a -- touch "$MARKER"
  assert_stderr_has '"a" and "b" are in different slots of this cluster ('
  assert_stderr_has 'so no single step can choose one; give them a common tag, as in "{t}a" and "{t}b"; see dlock'
  for name in 'a{b' '}x' '{}z'; do
    run -64 --separate-stderr "$DLOCK" run "$name" -- touch "$MARKER"
    assert_one_line
    assert_stderr_has "the lock name \"$name\" has braces that are no hash tag"
    run -64 "$DLOCK" inspect "$name"
  done
  run -78 --separate-stderr "$DLOCK" --url "$(seed 0)/3" run x -- touch "$MARKER"
  assert_stderr_has "a cluster has only database 0"
  assert_not_started
  [ "$(commands)" = "$before" ]
}
# What the nodes have got from dlock, what they refused included.
commands() {
  local i
  for i in 0 1 2; do node $i info commandstats; done | tr -d '\r' |
    awk -F'[=,:]' '/^cmdstat_(eval|evalsha|select):/ {
      for (i = 2; i < NF; i++) if ($i ~ /calls$/) n += $(i + 1) } END {print n + 0}'
}

@test "a waiter is woken by a release at once, and a deleted lock stops its holder" {
  local name=hand-over
  "$DLOCK" run $name -- sh -c 'until [ -e "$0" ]; do sleep 0.02; done' "$T/go" &
  STARTED+=($!)
  eventually 10s key_at $name
  dlock_run b -v $name -- "$TICKER" "$TICKS" until "$T/end" code 6
  eventually 10s in_line $name
  eventually 10s listens $name
  touch "$T/go"
  eventually 2s ticking
  eventually 10s sees_changes $name
  node "$(owner_of $name)" del "dlock:$name"
  ends 5s b "exit 79"
}
# A waiter is subscribed where its turn is published, and nowhere else.
listens() {
  local i turns
  turns=$(for i in 0 1 2; do turns_at $i "$1"; done)
  [ "$(wc -w <<<"$turns")" = 1 ] && [ "$(turns_at "$(owner_of "$1")" "$1")" = "$turns" ]
}
# Sharded, but in Redis 6.2.
turns_at() {
  for what in shardchannels channels; do node "$1" pubsub $what "dlock:turn:{dlock:$2}:*"; done |
    grep '^dlock:turn:' || true
}
key_at() { [ "$(node "$(owner_of "$1")" exists "dlock:$1")" = 1 ]; }
in_line() { [ "$(node "$(owner_of "$1")" zcard "dlock:line:{dlock:$1}")" = 1 ]; }
# A connection there tracks keys.
sees_changes() { node "$(owner_of "$1")" client list | grep -q 'flags=[A-Zt]*t'; }

@test "a node that is down: the other nodes of the URL are asked; none: 69 with each of them" {
  local dead
  dead=127.0.0.1:$(free_port)
  run -0 --separate-stderr "$DLOCK" --url "redis+cluster://$dead,127.0.0.1:${NODE_PORTS[0]}" \
    run x -- true
  assert_no_stderr
  run -69 --separate-stderr "$DLOCK" --url "redis+cluster://$dead" run --connect-timeout 1s x -- true
  assert_stderr_has "cannot reach redis://$dead/0: connection refused"
}

@test "a node that does not answer is passed over, with -n too" {
  local name=passed frozen
  frozen=$((($(owner_of $name) + 1) % 3))
  local -x DLOCK_URL
  DLOCK_URL=$(seed "$frozen"),127.0.0.1:${NODE_PORTS[(frozen + 1) % 3]}
  kill -STOP "${NODE_PIDS[frozen]}"
  run --separate-stderr "$DLOCK" run -n $name -- true
  kill -CONT "${NODE_PIDS[frozen]}"
  [ "$status" = 0 ]
}

@test "list has the locks of all masters; force-release and wait go to the owner" {
  local name held=()
  for name in l1 l2 l3 l4 l5; do
    "$DLOCK" run $name -- sleep 60 &
    held+=($!)
    STARTED+=($!)
  done
  for name in l1 l2 l3 l4 l5; do eventually 10s key_at $name; done
  run -0 "$DLOCK" list 'l*'
  assert_equal "$(cut -d: -f1 <<<"$output" | paste -sd' ')" "l1 l2 l3 l4 l5"
  run -0 "$DLOCK" force-release --yes l1
  run -0 "$DLOCK" wait -w 5s l1
  kill "${held[@]}" 2>/dev/null || true
}

@test "a node behind a plain URL: 69 for a slot of another one, and the URL to use" {
  local owner other
  owner=$(owner_of plain)
  other=$(((owner + 1) % 3))
  run -0 "$DLOCK" --url "redis://127.0.0.1:${NODE_PORTS[owner]}" run plain -- true
  run -69 --separate-stderr "$DLOCK" --url "redis://127.0.0.1:${NODE_PORTS[other]}" \
    run --connect-timeout 200ms plain -- touch "$MARKER"
  assert_stderr_has "is it redis+cluster:// ?"
  assert_not_started
}

# What is refused is in the server's log, and what was asked for in its statistics.
# bats test_tags=nightly
@test "the rights of the page for a cluster suffice, and each is asked for" {
  local i page more right asked=""
  page=$(sed 's/\\(ti/~/g; s/\\-/-/g' "$PROJECT/man/dlock-protocol.7")
  more=$(sed -n '/^A cluster needs/,/dlock list/p' <<<"$page" | grep -oE '[+][a-z|]+')
  for i in 0 1 2; do
    grep '^ACL SETUSER' <<<"$page" | redis-cli -s "$NODE_DIR/$i.sock"
    # shellcheck disable=SC2086  # words
    node "$i" acl setuser dlock $more +wait
    node "$i" config resetstat
  done
  export DLOCK_URL=${DLOCK_URL/\/\//\/\/dlock:PASSWORD@}
  for i in a b c d; do
    hold "$i" --ttl 3s
    run -75 "$DLOCK" run -w 1500ms "$i" -- true
    let_go
    run -0 "$DLOCK" run -x "$i" -- true
  done
  run -0 "$DLOCK" list
  for i in 0 1 2; do
    assert_equal "$(node "$i" acl log)" ""
    asked+=$(node "$i" info commandstats)
  done
  for right in $more; do [[ $asked == *"cmdstat_${right#+}:"* ]] || fail "no command needs $right"; done
}
