#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: of three servers one may die without a word to the command; a server that is cut off from the
# others renews nothing, and the command ends before its node does. Their ticks are of 2 s, as a
# ZooKeeper has them by default: sessions from 4 s to 40 s.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise ticker line store_cases pool zookeeper

setup_file() {
  set_up_file
  start_zookeeper 3 tickTime=2000 initLimit=5 syncLimit=2
}
setup() {
  set_up
  eventually 60s zookeeper_answers
}
teardown_file() { stop_zookeeper; }

@test "with layout=kazoo one of three names is held, and a waiter gets the first that is free" {
  DLOCK_URL="$DLOCK_URL/pool?layout=kazoo" one_of_several
}

@test "O02: the leader is killed during a run: the same session, and the command's own status" {
  local first session
  dlock_run a --ttl 10s -k 500ms a -- sh -c 'trap "exit 1" TERM; echo in; until [ -e "$0/go" ]; do sleep 0.02; done; exit 7' "$T"
  eventually 10s file_has "$T/a.out"
  first=$(leader)
  session=$(zk_at "$(follower)" owner "$(node_of a)")
  kill_server "$first"
  eventually 20s leader
  # Longer than the lease, with a renewal by another server.
  sleep 11
  run -75 "$DLOCK" run -n a -- true
  [ "$(zk_at "$(leader)" owner "$(node_at "$(leader)" a)")" = "$session" ]
  run_server "$first"
  touch "$T/go"
  ends 10s a "exit 7"
}
node_at() { printf '/%s/%s' "$2" "$(zk_at "$1" children "/$2")"; } # N NAME

@test "its follower stands still right after a renewal: the command has ended before its node goes" {
  local other node end
  other=$(follower)
  dlock_run a -v --url "zookeeper://127.0.0.1:$(port_of "$other")" --ttl 12s a -- "$TICKER" "$TICKS" catch 15
  eventually 10s ticking
  node=$(node_at "$(leader)" a)
  # A write alone over the connection that stands would leave the session to end before the lease: its
  # follower would have told of it within a second, and the time is rounded up to 2 s.
  eventually 10s file_has "$T/a.err" renewed
  signal_server "$other" STOP
  end=$(zk_at "$(leader)" gone "$node" 30)
  signal_server "$other" CONT
  ends 5s a "exit 79"
  grep -q signal-15 "$TICKS" || fail "$(tail -2 "$TICKS")"
  assert_equal "$(late_by $((end - 100)))" 0
}

@test "O02: the followers stand still: TERM before the lease ends, and 79" {
  local i first
  dlock_run a --ttl 6s a -- "$TICKER" "$TICKS" catch 15
  eventually 10s ticking
  first=$(leader)
  for i in 0 1 2; do [ "$i" = "$first" ] || signal_server "$i" STOP; done
  ends 12s a "exit 79"
  for i in 0 1 2; do signal_server "$i" CONT; done
  grep -q signal-15 "$TICKS" || fail "$(tail -2 "$TICKS")"
  eventually 60s zookeeper_answers
  run -0 "$DLOCK" run -w 40 a -- true
}

@test "a renewal by a leader that has just lost the others counts for nothing" {
  local i first at
  first=$(leader)
  at=zookeeper://127.0.0.1:$(port_of "$first")
  eval "$("$DLOCK" --url "$at" acquire a --ttl 30s)"
  run -0 "$DLOCK" --url "$at" renew a
  # It leads for as long as it takes to notice, and takes a session up.
  for i in 0 1 2; do [ "$i" = "$first" ] || signal_server "$i" STOP; done
  run -69 "$DLOCK" --url "$at" renew a
  for i in 0 1 2; do signal_server "$i" CONT; done
  eventually 60s zookeeper_answers
  run -0 "$DLOCK" --url "$at" release a
}

@test "waiters and holders go through the death of one server after the other" {
  local i
  hold a --ttl 20s
  stand_all a 1 3
  for i in 0 1 2; do
    kill_server "$i"
    sleep 1
    run_server "$i"
    eventually 60s zookeeper_answers
  done
  let_go
  eventually 40s entered 3
  assert_order 1 2 3
}

@test "a session beyond twenty ticks is refused: 64, and how much is allowed" {
  run -64 --separate-stderr "$DLOCK" run --ttl 41s a -- touch "$MARKER"
  assert_stderr_has "at most 40s"
  assert_not_started
}

@test "the last run: who, when, how it ended; only with --keep-last" {
  run -0 "$DLOCK" run job -- true
  run -0 "$DLOCK" inspect job
  refute_output --partial 'last run'
  tells_the_last_run --keep-last 1h
}
