#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock and Go's concurrency.Mutex wait for each other in etcd, in one line, and their tokens
# grow across both. etcdctl is in cli/etcd_peers.bats.
# clients: etcd-go
# others: only etcd's concurrency package keeps its locks in an etcd
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034  # as in both.bats; tests are subshells

load ../support/suite
suite cli supervise etcd
load interop

setup_file() {
  set_up_file
  start_etcd
  start_client "$ETCDCTL_ENDPOINTS"
}
setup() {
  set_up
  K=$N
}
teardown_file() {
  end_driver "$BATS_FILE_TMPDIR/client"
  stop_etcd
}

there() { [ "$(keys_of "$N" | wc -l)" -ge "$1" ]; }
# dlock_stands NAME: one more waiter behind all that are there; its command notes its token.
dlock_stands() {
  local before
  before=$(keys_of "$N" | wc -l)
  dlock_run "$1" "$N" -- sh -c 'echo "$0 $DLOCK_TOKEN" >>"$1"' "$1" "$T/order"
  eventually 10s there $((before + 1))
}
go_stands() { # ACTOR
  local before
  before=$(keys_of "$N" | wc -l)
  tell "$1" lock "$K"
  eventually 10s there $((before + 1))
}

token_of() { # ACTOR, while it holds: its revision, and the epoch of all tokens
  echo $(($(answers "$1" lock "$K" acquired | awk '{ print $NF }') + $(e get --print-value-only dlock-epoch)))
}

@test "they hold: dlock waits, and runs when they have released" {
  ask a lock "$K" 0
  dlock_is_refused
  dlock_stands b
  [ ! -e "$T/order" ]
  asked released a unlock "$K"
  ends 10s b "exit 0"
}

@test "dlock holds: their Lock waits, and their TryLock is refused at once" {
  dlock_holds
  asked refused c try "$K"
  go_stands a
  let_go
  eventually 10s said a lock "$K" acquired
  asked released a unlock "$K"
  [ "$("$DLOCK" inspect "$N")" = "$N: free" ]
}

@test "a frozen lock keeps them out: a free one at once, a held one after its release" {
  "$DLOCK" freeze --for 1h "$N"
  asked refused c try "$K"
  "$DLOCK" unfreeze "$N"
  dlock_holds
  go_stands a # they come before the freeze is written, but not before the holder
  local began
  began=$(micros)
  "$DLOCK" freeze --for 3s "$N"
  let_go
  asked refused c try "$K"
  eventually 20s said a lock "$K" acquired # by itself
  not_before "$(time_of a lock "$K")" $((began + 3000000))
  asked released a unlock "$K"
}

@test "dlock, theirs, dlock, theirs: in the order in which they came, and tokens grow" {
  local first second
  dlock_holds
  dlock_stands b
  go_stands c
  dlock_stands d
  go_stands e
  let_go
  ends 10s b "exit 0"
  eventually 10s said c lock "$K" acquired
  [ "$(wc -l <"$T/order")" = 1 ]
  first=$(token_of c)
  asked released c unlock "$K"
  ends 10s d "exit 0"
  eventually 10s said e lock "$K" acquired
  second=$(token_of e)
  asked released e unlock "$K"
  printf '%s\n' "$(sed -n 's/^b //p' "$T/order")" "$first" "$(sed -n 's/^d //p' "$T/order")" "$second" >"$T/tokens"
  sort -nuc "$T/tokens" || fail "$(cat "$T/tokens")"
}

@test "two of theirs and two dlocks add to one number: none is lost" {
  local i pids=() pid
  echo 0 >"$T/count"
  for i in 1 2; do
    tell "adder$i" add "$K" "$T/count" 15
    (for ((k = 0; k < 15; k++)); do
      "$DLOCK" run -q -w 60 "$N" -- sh -c 'read n <"$0"; echo $((n + 1)) >"$0"' "$T/count" || exit
    done) 3>&- &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
  says 60s adder1 add "$K" "done"
  says 60s adder2 add "$K" "done"
  [ "$(cat "$T/count")" = 60 ]
}
