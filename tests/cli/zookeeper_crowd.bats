#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: many who wait on one host for one lock need few of the connections that ZooKeeper allows a
# host, and with too few for all of them each has its turn all the same.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise line zookeeper

setup_file() {
  set_up_file
  start_zookeeper
}
teardown_file() { stop_zookeeper; }

# In place of the word of line.bash that asks Redis; we may be refused as well.
in_line() {
  local nodes
  until nodes=$(zk children "/$1" 2>/dev/null); do :; done
  wc -l <<<"$nodes" | awk '{ print $1 - 1 }'
}

# bats test_tags=nightly
@test "forty wait, and most of the time at most twenty are connected; all enter in order" {
  hold a
  stand_all a 1 40
  run -0 zk connections 5
  echo "connections: $output"
  [ "$output" -le 20 ]
  let_go
  eventually 60s entered 40
  assert_order {1..40}
  run ! grep "Too many connections" "$ZOOKEEPER/0/log"
}

@test "forty wait where twenty connections are allowed: all enter in order, without a word" {
  kill_server 0
  echo maxClientCnxns=20 >>"$ZOOKEEPER/0/zoo.cfg"
  run_server 0
  eventually 30s zookeeper_answers
  hold a
  stand_all a 1 40
  let_go
  eventually 60s entered 40
  assert_order {1..40}
  run ! grep -hv ': waiting \|: acquired ' "$T"/waiter-*.err
}
