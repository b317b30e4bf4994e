#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: who waits is woken by the release, not by the end of the lease and not by the next look.
# ./dev interop runs this file alone on the machine, and prints the figures; the limit of the tests
# is only there to tell a message from the 3 s between two looks.
# clients: redisson-4.7.0 redisson-3.27.2 node-redisson redlock5 redlock4 redis-py redsync
# others: their locks are not in Redis; shedlock.bats, etcd.bats and zookeeper.bats are for these
# alone: yes
# shellcheck disable=SC2154,SC2034  # *_pid are set by spawn; loops count

load ../support/suite
suite supervise
load interop

setup() {
  set_up
  feel_pulse
}

@test "dlock is woken by their release, twenty times" {
  local i
  for i in {1..20}; do
    asked acquired x lock "$K" 60000
    dlock_waits
    asked released x unlock "$K"
    ends 20s b "exit 0"
    echo "$(time_of x unlock "$K") $(cat "$T/b.began")" >>"$T/times"
  done
  figure "from their release to dlock's command" <"$T/times"
}

@test "they get in after dlock's command, twenty times" {
  local i
  for i in {1..20}; do
    # Another name each time: node-redisson ends its subscription to one a lease after it has waited.
    N=t$BATS_TEST_NUMBER-$i K=dlock:$N
    dlock_holds --ttl 60s
    tell "x$i" lock "$K" 60000
    comes_to_wait "x$i"
    let_go
    ends 20s a "exit 0"
    says 20s "x$i" lock "$K" acquired
    echo "$(cat "$T/a.ended") $(time_of "x$i" lock "$K")" >>"$T/times"
    asked released "x$i" unlock "$K"
  done
  figure "from the end of dlock's command to their lock" <"$T/times"
}
