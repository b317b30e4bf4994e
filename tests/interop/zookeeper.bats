#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock and the locks of ZooKeeper's client libraries wait for each other in one line, whoever
# holds, waits or crashes.
# clients: curator kazoo go-zookeeper
# others: their locks are not in a ZooKeeper
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034  # as in both.bats; tests are subshells

load ../support/suite
suite cli supervise zookeeper
load interop
load zookeeper

@test "they hold: dlock is refused or waits, and is woken by their release" {
  local turn # `run` changes i
  feel_pulse
  for turn in {1..3}; do
    asked acquired x lock "$K" 0
    dlock_is_refused
    dlock_stands "b$turn"
    run ! began "b$turn"
    asked released x unlock "$K"
    ends 20s "b$turn" "exit 0"
    not_before "$(began "b$turn")" "$(time_of x unlock "$K")"
    echo "$(time_of x unlock "$K") $(began "b$turn")" >>"$T/times"
  done
  figure "from their release to dlock's command" <"$T/times"
  nothing_left
}

@test "dlock holds: they are refused or wait, and are woken by its release" {
  local turn # `run` changes i
  feel_pulse
  for turn in {1..3}; do
    dlock_holds
    # Go's lock has no limit of time.
    [ "$INTEROP_CLIENT" = go-zookeeper ] || asked refused x try "$K" 300
    they_stand "y$turn" lock
    run ! said "y$turn" lock "$K"
    let_go
    ends 20s a "exit 0"
    says 20s "y$turn" lock "$K" acquired
    not_before "$(time_of "y$turn" lock "$K")" "$(cat "$T/a.ended")"
    echo "$(cat "$T/a.ended") $(time_of "y$turn" lock "$K")" >>"$T/times"
    dlock_is_refused
    asked released "y$turn" unlock "$K"
  done
  figure "from dlock's command to their lock" <"$T/times"
  nothing_left
}

@test "dlock, theirs, dlock, theirs: in the order in which they came" {
  dlock_holds
  dlock_stands b
  they_stand c lock
  dlock_stands d
  they_stand e lock
  let_go
  ends 10s b "exit 0"
  says 10s c lock "$K" acquired
  run ! began d
  asked released c unlock "$K"
  ends 10s d "exit 0"
  says 10s e lock "$K" acquired
  not_before "$(time_of e lock "$K")" "$(began d)"
  asked released e unlock "$K"
  nothing_left
}

@test "their lock is a foreign one: inspect shows its node and data, -n its node" {
  local data
  asked acquired x lock "$K" 0
  data=$(zk get "/$K/$(nodes)")
  # The address of its client.
  [ "$INTEROP_CLIENT" != curator ] || [ "$data" = 127.0.0.1 ]
  run -0 "$DLOCK" inspect "$N"
  assert_output --partial foreign
  assert_output --partial "$(nodes)"
  assert_output --partial "$data"
  run -75 "$DLOCK" run -n "$N" -- true
  assert_output --partial foreign
  refute_output --partial 'without expiry' # its session is not known
  assert_output --partial "$(nodes)"
  asked released x unlock "$K"
  [ "$("$DLOCK" inspect "$N")" = "$N: free" ]
}

@test "two of theirs and two dlocks add to one number: none is lost" {
  local i
  echo 0 >"$T/number"
  for i in 1 2; do
    tell "x$i" add "$K" "$T/number" 15
    spawn "shell$i" bash -c 'for i in {1..15}; do
      "$DLOCK" run -q -w 60s "$1" -- sh -c "n=\$(cat $0); sleep 0.002; echo \$((n + 1)) >$0" "$0" || exit
      done' "$T/number" "$N"
  done
  for i in 1 2; do
    ends 60s "shell$i" "exit 0"
    says 60s "x$i" add "$K" "done"
  done
  [ "$(cat "$T/number")" = 60 ]
  nothing_left
}

@test "the fencing tokens of dlock grow across their turns" {
  local tokens=() i
  for i in 1 2 3; do
    tokens+=("$("$DLOCK" run -w 20s "$N" -- sh -c 'echo $DLOCK_TOKEN')")
    asked acquired x lock "$K" 0
    asked released x unlock "$K"
  done
  printf '%s\n' "${tokens[@]}" | sort -nuc
}

@test "they crash: dlock gets in when their session has ended" {
  SESSION_MS=2000 another_client
  asked acquired x lock "$K" 0
  dlock_stands b
  run ! began b
  crash_driver "$CLIENT"
  ends 20s b "exit 0"
  nothing_left
}

@test "dlock crashes: its command is gone, and they get in when its session has ended" {
  local command
  dlock_holds --ttl 4s
  they_stand x lock
  command=$(pgrep -P "$a_pid" -x sh)
  kill -KILL "$a_pid"
  eventually 4s gone "$command"
  run ! said x lock "$K"
  says 20s x lock "$K" acquired
  asked released x unlock "$K"
  nothing_left
}
