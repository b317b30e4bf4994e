#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Slots that move as a whole (CLUSTER MIGRATESLOTS, Valkey 9). Run by ./dev servers on Valkey 9.
# shellcheck disable=SC2034,SC2154,SC2030,SC2031,SC2153  # *_pid come from spawn

load ../support/suite
suite ticker cli leases cluster tls

in_line_at() { [ "$(node "$1" zcard "dlock:line:{dlock:$2}")" = "$3" ]; }
owned_by() { [ "$(owner_of "$1")" = "$2" ]; }

@test "a slot that moves as a whole: the hold is renewed at the new owner, and the line keeps its order" {
  local name=whole from to slot before waiter waiters=0
  start_cluster "$T/nodes"
  from=$(owner_of $name) slot=$(slot_of $name)
  to=$(((from + 1) % 3))
  dlock_run a -v --ttl 6s -k 500ms $name -- "$TICKER" "$TICKS" until "$T/go" code 6
  eventually 10s ticking
  for waiter in b c; do
    # shellcheck disable=SC2016  # for the inner shell
    dlock_run $waiter $name -- sh -c 'echo "$1" >>"$0"' "$T/order" $waiter
    eventually 10s in_line_at "$from" $name $((++waiters))
  done
  node "$from" cluster migrateslots slotsrange "$slot" "$slot" node "${NODE_IDS[to]}"
  eventually 20s owned_by $name "$to"
  before=$(renewals a $name)
  eventually 10s renewed_more_than a $name "$before"
  run -1 grep -E 'ASK|TRYAGAIN' "$T/a.err"
  touch "$T/go"
  ends 10s a "exit 6"
  ends 15s b "exit 0"
  ends 15s c "exit 0"
  assert_equal "$(xargs <"$T/order")" "b c"
}
