#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# redis+cluster://: a hold and a line survive the move of their slot and the loss of its owner; a
# script is never left half done.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2153  # *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite ticker cli leases cluster tls

# The slot of a name in two steps, with a state in between in which half of its keys have left.
leave_half() { # NAME FROM TO KEY…
  local slot
  slot=$(slot_of "$1")
  node "$3" cluster setslot "$slot" importing "${NODE_IDS[$2]}"
  node "$2" cluster setslot "$slot" migrating "${NODE_IDS[$3]}"
  node "$2" migrate 127.0.0.1 "${NODE_PORTS[$3]}" "" 0 5000 keys "${@:4}"
}
finish_move() { # NAME FROM TO
  local slot i keys
  slot=$(slot_of "$1")
  mapfile -t keys < <(node "$2" cluster getkeysinslot "$slot" 100)
  [ ${#keys[@]} = 0 ] || node "$2" migrate 127.0.0.1 "${NODE_PORTS[$3]}" "" 0 5000 keys "${keys[@]}"
  for i in "$3" "$2" 0 1 2; do node "$i" cluster setslot "$slot" node "${NODE_IDS[$3]}"; done
}
line_of() {
  node "$(owner_of "$1")" zrange "dlock:line:{dlock:$1}" 0 -1 | sed -E 's/.*"pid":([0-9]+).*/\1/' | xargs
}
line_is() { [ "$(line_of "$1")" = "$2" ]; }

@test "F06: the slot moves while its lock is held: the command's code, and the line keeps its order" {
  local name=moved from to before
  start_cluster "$T/nodes"
  from=$(owner_of $name)
  to=$(((from + 1) % 3))
  dlock_run a -v --ttl 6s -k 500ms $name -- "$TICKER" "$TICKS" until "$T/go" code 6
  eventually 10s ticking
  dlock_run b $name -- sh -c 'echo b >>"$0"' "$T/order"
  eventually 10s line_is $name "$b_pid"
  dlock_run c $name -- sh -c 'echo c >>"$0"' "$T/order"
  eventually 10s line_is $name "$b_pid $c_pid"
  leave_half $name "$from" "$to" "dlock:$name"
  eventually 10s grep -qE 'says: (TRYAGAIN|ASK)' "$T/a.err"
  finish_move $name "$from" "$to"
  before=$(renewals a $name)
  eventually 10s renewed_more_than a $name "$before"
  [ "$(owner_of $name)" = "$to" ]
  line_is $name "$b_pid $c_pid"
  touch "$T/go"
  ends 10s a "exit 6"
  ends 15s b "exit 0"
  ends 15s c "exit 0"
  assert_equal "$(xargs <"$T/order")" "b c"
}

@test "F08: most masters are down: unknown, and 79 before the lease ends" {
  local name=alone owner at
  start_cluster "$T/nodes" 0 --cluster-node-timeout 1000
  owner=$(owner_of $name)
  export DLOCK_URL
  DLOCK_URL=$(seed "$owner")
  hold_deaf $name -k 200ms
  kill -KILL "${NODE_PIDS[(owner + 1) % 3]}" "${NODE_PIDS[(owner + 2) % 3]}"
  eventually 10s is_down "$owner" # from then on it confirms nothing
  at=$(boot_ms)
  dead_before_the_end_of_the_lease "$at"
  grep -q CLUSTERDOWN "$T/a.err"
}
is_down() { node "$1" cluster info | grep -q cluster_state:fail; }

# All keys that a renewal declares are there, and the lease of the reader, which it does not declare,
# has left: without the key that never exists it would run to there, and stop.
# bats test_tags=nightly
@test "a script is refused as a whole while a slot moves: no key changes, and 79 by the clock" {
  local name=half from to at before tag='{dlock:half}' lease
  start_cluster "$T/nodes"
  from=$(owner_of $name)
  to=$(((from + 1) % 3))
  hold_deaf $name -s -k 200ms
  lease=$(node "$from" keys "$tag:*")
  node "$from" hset "dlock:revoked:$tag" someone else
  leave_half $name "$from" "$to" "$lease"
  at=$(boot_ms)
  before=$(node "$from" hgetall "dlock:holds:$tag")
  [ -n "$before" ]
  eventually 10s grep -qE 'says: (TRYAGAIN|ASK)' "$T/a.err"
  assert_equal "$(node "$from" hgetall "dlock:holds:$tag")" "$before"
  dead_before_the_end_of_the_lease "$at"
}

# bats test_tags=nightly
@test "the ears of a holder follow its slot: a lock that is deleted there stops the command at once" {
  local name=heard from to
  start_cluster "$T/nodes"
  from=$(owner_of $name)
  to=$(((from + 1) % 3))
  dlock_run a -v --ttl 60s $name -- "$TICKER" "$TICKS" until "$T/go" code 6
  eventually 10s sees_changes "$from"
  leave_half $name "$from" "$to" "dlock:$name"
  finish_move $name "$from" "$to"
  eventually 10s sees_changes "$to"
  node "$to" del "dlock:$name"
  ends 5s a "exit 79"
}
# A connection there tracks keys.
sees_changes() { node "$1" client list | grep -q 'flags=[A-Zt]*t'; }

# bats test_tags=nightly
@test "a grant needs the replica of its shard, if there is one, unless --replicas 0" {
  local owner
  start_cluster "$T/nodes" 3
  owner=$(owner_of x)
  run -0 --separate-stderr "$DLOCK" run -v x -- true
  kill -STOP "${NODE_PIDS[owner + 3]}"
  run -69 --separate-stderr "$DLOCK" run -n --ttl 5s x -- touch "$MARKER"
  assert_stderr_has "only 0 of 1 replicas of redis+cluster://"
  assert_stderr_has "--replicas (0: wait for none)"
  assert_not_started
  run -0 "$DLOCK" run -n --replicas 0 x -- true
  # Not connected, and still its replica: it could be promoted without the grant.
  kill -KILL "${NODE_PIDS[owner + 3]}"
  eventually 10s has_no_replica "$owner"
  run -69 --separate-stderr "$DLOCK" run -n --ttl 5s x -- touch "$MARKER"
  assert_stderr_has "only 0 of 1 replicas of redis+cluster://"
  assert_not_started
  run -0 "$DLOCK" run -n --replicas 0 x -- true
}
has_no_replica() { [ "$(node "$1" info replication | tr -d '\r' | grep '^connected_slaves:')" = connected_slaves:0 ]; }

# The claims that wait in the frozen owner are answered before it hears of the failover.
# bats test_tags=nightly
@test "a frozen owner that has lost its replica grants nothing when it goes on" {
  local name=alone owner replica i
  start_cluster "$T/nodes" 3
  owner=$(owner_of $name)
  replica=$((owner + 3))
  run -0 "$DLOCK" run $name -- true # the scripts are known
  kill -STOP "${NODE_PIDS[owner]}"
  for i in 1 2 3 4 5 6; do
    DLOCK_URL=$(seed "$owner") dlock_run b$i -n --ttl 10s --connect-timeout 20s $name -- touch "$MARKER"
  done
  eventually 20s is_master "$replica"
  DLOCK_URL=$(seed $(((owner + 1) % 3))) dlock_run a --ttl 10s $name -- "$TICKER" "$TICKS" until "$T/go"
  eventually 20s ticking
  kill -CONT "${NODE_PIDS[owner]}"
  for i in 1 2 3 4 5 6; do eventually 25s ended b$i; done
  assert_not_started
  touch "$T/go"
  ends 10s a "exit 0"
}

# bats test_tags=nightly
@test "rediss+cluster: TLS and the password go to every node, and its certificate is verified" {
  local name
  make_ca ca
  make_ca foreign
  make_certificate node ca "$HERE"
  export NODE_CERTIFICATE=node REDISCLI_AUTH=sesame DLOCK_PASSWORD=sesame
  start_cluster "$T/nodes" 0 --requirepass sesame
  for name in a b c d e; do
    run -0 --separate-stderr "$DLOCK" --cacert "$TLS/ca.crt" run $name -- true
    assert_no_stderr
  done
  run -69 --separate-stderr "$DLOCK" --cacert "$TLS/foreign.crt" run --connect-timeout 1s a -- true
  assert_stderr_has certificate
  run -78 "$DLOCK" --url "${DLOCK_URL/rediss/redis}" --cacert "$TLS/ca.crt" run a -- true
}

# bats test_tags=nightly
@test "the owner is killed while its lock is held: renewed at its replica, the command's code" {
  local name=survives owner before
  start_cluster "$T/nodes" 3
  owner=$(owner_of $name)
  export DLOCK_URL
  DLOCK_URL=$(seed $(((owner + 1) % 3))),127.0.0.1:${NODE_PORTS[owner]}
  dlock_run a -v --ttl 20s -k 500ms $name -- "$TICKER" "$TICKS" until "$T/go" code 6
  eventually 10s ticking
  kill -KILL "${NODE_PIDS[owner]}"
  run -69 --separate-stderr "$DLOCK" run --connect-timeout 300ms $name -- touch "$MARKER"
  assert_stderr_has "cannot reach 127.0.0.1:${NODE_PORTS[owner]}: connection refused; redis://"
  assert_stderr_has " says: MOVED "
  refute_stderr_has 'is it redis+cluster://'
  eventually 20s is_master $((owner + 3))
  before=$(renewals a $name)
  eventually 20s renewed_more_than a $name "$before"
  touch "$T/go"
  ends 10s a "exit 6"
  [ "$(node $((owner + 3)) exists "dlock:$name")" = 0 ]
  run -0 "$DLOCK" run $name -- true
}
is_master() { [ "$(node "$1" role | head -1)" = master ]; }

# bats test_tags=nightly
@test "the owner is frozen, replaced and thawed: never two at once" {
  local name=frozen owner i
  start_cluster "$T/nodes" 3
  owner=$(owner_of $name)
  export DLOCK_URL
  DLOCK_URL=$(seed $(((owner + 1) % 3))),127.0.0.1:${NODE_PORTS[owner]}
  dlock_run a -v --ttl 6s -k 200ms $name -- "$TICKER" "$TICKS" ignore 60
  eventually 10s ticking
  kill -STOP "${NODE_PIDS[owner]}"
  eventually 20s is_master $((owner + 3))
  dlock_run b $name -- "$TICKER" "$T/ticks-b" for 20
  kill -CONT "${NODE_PIDS[owner]}"
  kill -TERM "$a_pid"
  ends 30s b "exit 0"
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-b")" ]
}
