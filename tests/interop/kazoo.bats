#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock and kazoo see each other's locks with layout=kazoo, and only with it, as the manual says.
# clients: kazoo
# others: they have Curator's layout
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034  # as in both.bats; tests are subshells

load ../support/suite
suite cli supervise zookeeper
load interop
load zookeeper

@test "without layout=kazoo a lock of kazoo is not seen, nor does kazoo see dlock's" {
  export DLOCK_URL=${DLOCK_URL%\?*}
  asked acquired x lock "$K" 0
  "$DLOCK" run -n "$N" -- true
  asked released x unlock "$K"
  dlock_holds
  asked acquired x try "$K" 10000
  asked released x unlock "$K"
  let_go
  ends 20s a "exit 0"
}

@test "kazoo's Lock waits for a plain dlock and for -x, not for -s, as in kazoo" {
  dlock_holds -x
  asked refused x try "$K" 300
  let_go
  ends 20s a "exit 0"
  dlock_holds -s
  asked acquired x try "$K" 10000
  asked released x unlock "$K"
  let_go
  ends 20s a "exit 0"
  nothing_left
}

@test "force-release leaves kazoo's lock as it is; with --now it is gone" {
  asked acquired x lock "$K" 0
  dlock_stands b
  run "$DLOCK" force-release --yes "$N"
  [ "$status" != 0 ]
  assert_output --partial --now
  [ "$(zk get "/$K/$(nodes | head -n 1)")" = kazoo ]
  run ! began b
  run -0 "$DLOCK" force-release --yes --now "$N"
  ends 20s b "exit 0"
  asked released x unlock "$K" # kazoo knows of nothing
  nothing_left
}

@test "a Lock of kazoo that was used comes back after the lock's folder has gone" {
  "$DLOCK" run "$N" -- true
  asked acquired x lock "$K" 0
  asked released x unlock "$K"
  zk gone "/$K" 5 >"$T/gone" || true # if it is a container: these go some time after their last node
  asked acquired x lock "$K" 0
  dlock_is_refused
  asked released x unlock "$K"
}
