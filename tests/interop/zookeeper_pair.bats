#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: readers and writers of dlock and of ZooKeeper's client libraries stand together and alone as
# those of one library do.
# clients: curator kazoo
# others: they have no read and write locks in a ZooKeeper
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034  # as in both.bats; tests are subshells

load ../support/suite
suite cli supervise zookeeper
load interop
load zookeeper

@test "dlock reads: their readers stand beside it, their writers do not" {
  dlock_holds -s
  asked refused w try.write "$K" 300
  asked acquired r try.read "$K" 10000
  asked released r unlock.read "$K"
  they_stand w lock.write
  let_go
  ends 20s a "exit 0"
  says 20s w lock.write "$K" acquired
  not_before "$(time_of w lock.write "$K")" "$(cat "$T/a.ended")"
  asked released w unlock.write "$K"
  nothing_left
}

@test "dlock writes: neither their readers nor their writers stand beside it" {
  dlock_holds -x
  asked refused r try.read "$K" 300
  asked refused w try.write "$K" 300
  they_stand r lock.read
  let_go
  ends 20s a "exit 0"
  says 20s r lock.read "$K" acquired
  not_before "$(time_of r lock.read "$K")" "$(cat "$T/a.ended")"
  asked released r unlock.read "$K"
  nothing_left
}

@test "they read: dlock's readers stand beside them, all its others wait" {
  asked acquired r lock.read "$K" 0
  "$DLOCK" run -n -s "$N" -- true
  dlock_is_refused -x
  dlock_is_refused
  dlock_stands b -x
  run ! began b
  asked released r unlock.read "$K"
  ends 20s b "exit 0"
  not_before "$(began b)" "$(time_of r unlock.read "$K")"
  nothing_left
}

@test "they write: dlock waits, whatever it wants" {
  asked acquired w lock.write "$K" 0
  dlock_is_refused -s
  dlock_is_refused -x
  dlock_is_refused
  dlock_stands b -s
  run ! began b
  asked released w unlock.write "$K"
  ends 20s b "exit 0"
  not_before "$(began b)" "$(time_of w unlock.write "$K")"
  nothing_left
}

@test "two readers together, then dlock's writer, then theirs, each alone" {
  asked acquired r lock.read "$K" 0
  dlock_holds -s
  dlock_stands b -x
  they_stand w lock.write
  asked released r unlock.read "$K"
  run ! began b # the other reader is still there
  let_go
  ends 20s a "exit 0"
  ends 20s b "exit 0"
  says 20s w lock.write "$K" acquired
  not_before "$(began b)" "$(cat "$T/a.ended")"
  not_before "$(time_of w lock.write "$K")" "$(began b)"
  dlock_is_refused -s
  asked released w unlock.write "$K"
  nothing_left
}

@test "writers and readers of both sides, over and over: no write is lost, no read changes" {
  local kind
  echo 0 >"$T/number"
  tell w add.write "$K" "$T/number" 10
  tell r look.read "$K" "$T/number" 10
  spawn writer bash -c 'for i in {1..10}; do
    "$DLOCK" run -q -x -w 60s "$1" -- sh -c "n=\$(cat $0); sleep 0.002; echo \$((n + 1)) >$0" "$0" || exit
    done' "$T/number" "$N"
  spawn reader bash -c 'for i in {1..10}; do
    "$DLOCK" run -q -s -w 60s "$1" -- sh -c "n=\$(cat $0); sleep 0.002; [ \$n = \$(cat $0) ]" "$0" || exit
    done' "$T/number" "$N"
  for kind in reader writer; do ends 60s $kind "exit 0"; done
  says 60s w add.write "$K" "done"
  says 60s r look.read "$K" "done"
  [ "$(cat "$T/number")" = 20 ]
  nothing_left
}
