#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: go-zookeeper, whose lock counts every node in the folder, waits for all kinds of
# dlocks.
# clients: go-zookeeper
# others: they look only at names of their own
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034  # as in both.bats; tests are subshells

load ../support/suite
suite cli supervise zookeeper
load interop
load zookeeper

@test "Go's lock waits for dlock's readers, writers and slots, too" {
  local kind
  for kind in -q -s -x --slots=2; do
    dlock_holds "$kind"
    they_stand y lock
    let_go
    ends 20s a "exit 0"
    says 20s y lock "$K" acquired
    not_before "$(time_of y lock "$K")" "$(cat "$T/a.ended")"
    dlock_is_refused "$kind"
    asked released y unlock "$K"
  done
}
