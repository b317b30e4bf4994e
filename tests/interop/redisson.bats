#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock excludes, and is excluded by, every kind of lock that Redisson makes of a hash; the
# fencing tokens of both grow together; what Redisson says of a lock is true of one of dlock's.
# clients: redisson-4.7.0 redisson-3.27.2
# others: only Redisson for Java has these kinds of locks and these questions
# shellcheck disable=SC2154,SC2016,SC2034  # *_pid are set by spawn; inner shells; evals

load ../support/suite
suite supervise
load interop

# token_of_dlock: takes the lock, and prints the fencing token.
token_of_dlock() { "$DLOCK" run -w 20s "$N" -- sh -c 'echo $DLOCK_TOKEN'; }

@test "RFencedLock: the tokens grow across both, whoever comes next" {
  local tokens=() answer i
  for i in 1 2 3; do
    tokens+=("$(token_of_dlock)")
    answer=$(ask x lock.fenced "$K" 0)
    [ "${answer% *}" = acquired ]
    tokens+=("${answer#* }")
    asked "${answer#* }" x token.fenced "$K"
    asked released x unlock.fenced "$K"
  done
  printf '%s\n' "${tokens[@]}"
  for i in 1 2 3 4 5; do [ "${tokens[i]}" -gt "${tokens[i - 1]}" ]; done
  [ "${tokens[5]}" -lt 9007199254740992 ]
}

@test "RFencedLock: after its first token, 1, dlock's is larger" {
  asked "acquired 1" x lock.fenced "$K" 0
  asked released x unlock.fenced "$K"
  [ "$(token_of_dlock)" -gt 1 ]
}

@test "RFencedLock: waits for dlock, is woken by its release, and has a larger token" {
  dlock_holds --ttl 60s
  local mine
  mine=$(inspected 'lock["token"]')
  tell x lock.fenced "$K" 0
  eventually 20s watched_by 1
  sleep 0.5 # for its second look; it has no thread that could be seen to wait
  let_go
  ends 20s a "exit 0"
  says 20s x lock.fenced "$K" acquired
  [ "$(ask x token.fenced "$K")" -gt "$mine" ]
  dlock_is_refused
  asked released x unlock.fenced "$K"
}

@test "RFairLock: dlock waits for it, and gets in after its unlock" {
  asked acquired x lock.fair "$K" 60000
  dlock_is_refused
  dlock_waits
  asked released x unlock.fair "$K"
  ends 20s b "exit 0"
  not_before "$(cat "$T/b.began")" "$(time_of x unlock.fair "$K")"
  assert_free "$N"
}

@test "RFairLock: two of them wait for dlock, and get in in their order" {
  dlock_holds --ttl 8s # they sleep until its end: dlock knows nothing of their queue
  tell x lock.fair "$K" 30000
  eventually 20s eval '[ "$(r llen "redisson_lock_queue:{$K}")" = 1 ]'
  tell y lock.fair "$K" 30000
  eventually 20s eval '[ "$(r llen "redisson_lock_queue:{$K}")" = 2 ]'
  run ! said x lock.fair "$K"
  let_go
  ends 20s a "exit 0"
  says 20s x lock.fair "$K" acquired
  run ! said y lock.fair "$K"
  asked released x unlock.fair "$K"
  says 20s y lock.fair "$K" acquired
  not_before "$(time_of x lock.fair "$K")" "$(cat "$T/a.ended")"
  not_before "$(time_of y lock.fair "$K")" "$(time_of x unlock.fair "$K")"
  asked released y unlock.fair "$K"
  token_of_dlock
}

@test "RFairLock: whoever died in its queue does not keep dlock out" {
  another_client
  asked acquired x lock.fair "$K" 5000
  tell y lock.fair "$K" 60000
  eventually 20s eval '[ "$(r llen "redisson_lock_queue:{$K}")" = 1 ]'
  crash_driver "$CLIENT"
  dlock_waits -w 20s
  ends 20s b "exit 0"
}

@test "RSpinLock tells nobody: dlock gets in all the same, and keeps it out" {
  asked acquired x lock.spin "$K" 60000
  dlock_is_refused
  dlock_waits
  asked released x unlock.spin "$K"
  ends 20s b "exit 0"
  dlock_holds --ttl 60s
  asked refused x try.spin "$K" 200 30000
  tell y lock.spin "$K" 30000
  sleep 0.3
  let_go
  ends 20s a "exit 0"
  says 20s y lock.spin "$K" acquired
  not_before "$(time_of y lock.spin "$K")" "$(cat "$T/a.ended")"
  asked released y unlock.spin "$K"
}

@test "MultiLock keeps dlock out of each of its names, and waits for it on any of them" {
  asked acquired x lock.multi "$K,$K-too" 60000
  dlock_is_refused
  NAME=$N-too dlock_is_refused
  asked released x unlock.multi "$K,$K-too"
  NAME=$N-too dlock_holds --ttl 60s
  asked refused x try.multi "$K,$K-too" 500 30000
  "$DLOCK" run -w 20s "$N" -- true # what the MultiLock had for a while is free again
  tell y lock.multi "$K,$K-too" 30000
  sleep 0.3
  let_go
  ends 20s a "exit 0"
  says 30s y lock.multi "$K,$K-too" acquired
  not_before "$(time_of y lock.multi "$K,$K-too")" "$(cat "$T/a.ended")"
  asked released y unlock.multi "$K,$K-too"
}

@test "a dlock of several names keeps Redisson out of each of them, and waits for any" {
  asked acquired x lock "$K-too" 60000
  dlock_run a --ttl 60s --and "$N-too" "$N" -- sh -c 'date +%s%6N >$0/a.began
    until [ -e $0/go ]; do sleep 0.02; done; date +%s%6N >$0/a.ended' "$T"
  eventually 20s eval '[ "$(NAME=$N-too inspected "lock[\"waiting\"]")" = 1 ]'
  asked acquired y lock "$K" 60000 # not even half of it is taken
  asked released y unlock "$K"
  asked released x unlock "$K-too"
  eventually 20s test -e "$T/a.began"
  asked refused y try "$K" 100 30000
  asked refused y try "$K-too" 100 30000
  tell y lock.multi "$K-too,$K" 30000
  let_go
  ends 20s a "exit 0"
  says 30s y lock.multi "$K-too,$K" acquired
  not_before "$(time_of y lock.multi "$K-too,$K")" "$(cat "$T/a.ended")"
  asked released y unlock.multi "$K-too,$K"
}

# adds NAME ONE OTHER: adds 8 to the number, each time under both locks.
adds() {
  spawn "$1" bash -c 'for i in {1..8}; do
    "$DLOCK" run --and "$2" "$1" -- sh -c "n=\$(cat $0); sleep 0.002; echo \$((n + 1)) >$0" || exit
    done' "$T/number" "$2" "$3"
}
@test "MultiLocks, and dlocks of two names in either order, over and over: one at a time" {
  echo 0 >"$T/number"
  tell x add.multi "$K,$K-too" "$T/number" 4 # two MultiLocks in different orders never get in
  tell y add.multi "$K,$K-too" "$T/number" 4
  adds ahead "$N" "$N-too"
  adds back "$N-too" "$N"
  ends 60s ahead "exit 0"
  ends 60s back "exit 0"
  says 60s x add.multi "$K,$K-too" "done"
  says 60s y add.multi "$K,$K-too" "done"
  [ "$(cat "$T/number")" = 24 ]
}

@test "RReadWriteLock: both of its locks keep dlock out until they are released" {
  local kind
  for kind in read write; do
    asked acquired x "lock.$kind" "$K" 60000
    dlock_is_refused
    dlock_waits
    run ! entered
    asked released x "unlock.$kind" "$K"
    ends 30s b "exit 0"
    not_before "$(cat "$T/b.began")" "$(time_of x "unlock.$kind" "$K")"
  done
}

@test "isLocked, remainTimeToLive, getHoldCount, isHeldByCurrentThread of dlock's lock" {
  asked -2 x ttl "$K"
  dlock_holds --ttl 20s
  asked true x locked "$K"
  asked false x held "$K"
  asked 0 x count "$K"
  local left
  left=$(ask x ttl "$K")
  [ "$left" -gt 0 ]
  [ "$left" -le 20000 ]
  asked "error IllegalMonitorStateException" x unlock "$K"
  let_go
  ends 20s a "exit 0"
  asked false x locked "$K"
  asked acquired x lock "$K" 30000
  asked 1 x count "$K"
  asked true x held "$K"
  asked released x unlock "$K"
}

@test "a lock taken from Redisson that is dlock's now: its unlock throws, dlock keeps it" {
  asked acquired x lock "$K" 0
  "$DLOCK" force-release --yes --now "$N"
  dlock_holds
  asked "error IllegalMonitorStateException" x unlock "$K"
  asked true x locked "$K"
  [ "$(inspected 'len(lock["holds"])')" = 1 ]
  let_go
  ends 20s a "exit 0"
}

@test "Redisson's connections break while it holds: it renews again, and dlock stays out" {
  asked acquired x lock "$K" 0
  local first
  dlock_waits
  # Right after a renewal: one that is under way would be lost for longer than the lease.
  first=$(lease_end)
  eventually 20s eval '[ "$(lease_end)" -gt "$first" ]'
  r client kill type normal skipme yes
  first=$(lease_end)
  eventually 30s eval '[ "$(micros)" -gt "$first" ]'
  run ! entered
  asked released x unlock "$K"
  ends 30s b "exit 0"
}
