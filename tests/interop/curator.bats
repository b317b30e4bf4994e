#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: what only Curator does: it asks holders to release, and reads on after a write.
# clients: curator
# others: nothing of theirs can be revoked in ZooKeeper, and their writers cannot read as well
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034  # as in both.bats; tests are subshells

load ../support/suite
suite cli supervise zookeeper
load interop
load zookeeper

@test "force-release calls a Java holder's listener; it stays until Java releases" {
  local node
  asked acquired x lock.revocable "$K" 0
  node=$(nodes)
  dlock_stands b
  run "$DLOCK" force-release --yes "$N"
  [ "$status" != 0 ]
  assert_output --partial --now
  says 10s x listener "$K" called
  [ "$(nodes | grep -cxF "$node")" = 1 ]
  run ! began b
  asked released x unlock.revocable "$K"
  ends 20s b "exit 0"
  nothing_left
}

@test "force-release --now ends the lock of a Java holder, and the next one gets in" {
  asked acquired x lock "$K" 0
  dlock_stands b
  run -0 "$DLOCK" force-release --yes --now "$N"
  ends 20s b "exit 0"
  nothing_left
}

@test "Curator's Revoker on dlock's node: its command is stopped, 79, by whom" {
  dlock_holds
  they_stand y lock
  asked asked x revoke "$K/$(nodes | head -n 1)"
  ends 20s a "exit 79"
  [ -s "$T/a.ended" ]
  file_has "$T/a.err" "was revoked by a Revoker of Curator"
  says 20s y lock "$K" acquired
  not_before "$(time_of y lock "$K")" "$(cat "$T/a.ended")"
  asked released y unlock "$K"
  nothing_left
}

@test "Curator's Revoker on any dlock right after its grant: 79, and no node stays" {
  local kind
  for kind in --ttl=30s -s -x --slots=2; do
    dlock_holds "$kind"
    asked asked x revoke "$K/$(nodes)"
    ends 20s a "exit 79"
    [ -s "$T/a.ended" ]
    file_has "$T/a.err" "was revoked by a Revoker of Curator"
    nothing_left
  done
}

# A dlock `b` behind all that are there, which holds until it is stopped.
dlock_waits_and_holds() { # [OPTION…]
  rm -f "$T/b.began"
  dlock_run b "$@" "$N" -- sh -c 'date >"$0"; sleep 60' "$T/b.began"
  eventually 10s there 2
}
@test "Curator's Revoker on a dlock whose turn just came: 79, by whom, no node stays" {
  local kind
  for kind in --ttl=30s -s -x --slots=2; do
    asked acquired x lock "$K" 0
    dlock_waits_and_holds "$kind"
    tell x unlock "$K"
    eventually 20s test -e "$T/b.began"
    asked asked y revoke "$K/$(nodes)"
    ends 20s b "exit 79"
    file_has "$T/b.err" "was revoked by a Revoker of Curator"
    nothing_left
  done
}

@test "Curator's Revoker on a dlock that just came to wait: it keeps its place" {
  asked acquired x lock "$K" 0
  dlock_stands b
  asked asked y revoke "$K/$(nodes | tail -n 1)"
  asked released x unlock "$K"
  ends 20s b "exit 0"
  nothing_left
}

@test "Java reads on after its write: dlock's readers come then, its writer waits" {
  asked acquired w lock.write "$K" 0
  asked acquired w lock.read "$K" 0
  dlock_is_refused -s
  asked released w unlock.write "$K"
  "$DLOCK" run -n -s "$N" -- true
  dlock_is_refused -x
  dlock_stands b -x
  asked released w unlock.read "$K"
  ends 20s b "exit 0"
  not_before "$(began b)" "$(time_of w unlock.read "$K")"
  nothing_left
}

@test "an InterProcessMutex sees plain runs only, and Java's pair -s and -x only" {
  dlock_holds -x
  asked acquired x try "$K" 10000
  asked released x unlock "$K"
  let_go
  ends 20s a "exit 0"
  dlock_holds
  asked acquired w try.write "$K" 10000
  asked released w unlock.write "$K"
  let_go
  ends 20s a "exit 0"
}
