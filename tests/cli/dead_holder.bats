#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A run whose dlock, guard and command are dead keeps its lock no longer than until the next claim on
# the same host, in each store. In doubt, its lease decides.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031  # *_pid are set by spawn; '…' is for inner shells; DLOCK_URL

load ../support/suite
suite server empty cli supervise ticker faults etcd

setup_file() {
  start_etcd
  export ETCD_URL=$DLOCK_URL
  set_up_file
}
teardown_file() {
  stop_etcd
  stop_redis
}

# renewed NAME: succeeds when the run has had its first renewal, which records its processes.
renewed() { grep -q '^dlock: renewed ' "$T/$1.err"; }
# begins NAME [OPTION…] LOCK -- COMMAND…: starts a run. Its lease is much longer than pid 1 takes to
# reap what is killed here.
begins() { dlock_run "$1" -v --ttl 21s "${@:2}"; }
# holds NAME …: the same, and waits for the first renewal.
holds() {
  begins "$@"
  eventually 20s renewed "$1"
}
# crash NAME: kills dlock and its guard at once.
crash() {
  local pid guard
  pid=$(cat "$T/$1.pid")
  guard=$(guard_of "$pid")
  kill -STOP "$pid" # so that it cannot replace its guard
  kill -KILL "$guard" "$pid"
  eventually 5s reaped "$pid"
  eventually 5s reaped "$guard"
}
# Not even a zombie is left of the process, or with -GROUP of the group.
reaped() { ! kill -0 -- "$1" 2>/dev/null; }
ticker() { awk '{print $2; exit}' "$TICKS"; }
# claim STATUS NAME: checks how a claim ends that does not wait.
claim() { run "-$1" --separate-stderr "$DLOCK" run -n "$2" -- true; }
freed() { assert_stderr_has "dlock: freed \"$1\" of $(id -un)@"; }

# Two crashed holders: the command of one has left a process in its group. Only the group shows that
# it lives: its environment does not have the hold.
two_crashed_holders() {
  local group
  begins none none -- sh -c 'echo $$; exec sleep 60'
  holds some some -- sh -c 'echo $$; env -i "$0" "$1" & exec sleep 60' "$TICKER" "$TICKS"
  eventually 10s ticking
  eventually 20s renewed none
  claim 75 none
  crash some
  crash none
  eventually 5s reaped "-$(cat "$T/none.out")"
  group=$(cat "$T/some.out")
  eventually 5s reaped "$group"
  claim 0 none
  freed none
  assert_stderr_has ": that run is dead, with all of its processes"
  claim 75 some
  run ! ticker_gone
  kill -KILL "$(ticker)"
  eventually 5s reaped "-$group"
  claim 0 some
  freed some
}
@test "P42: two crashed holders: without a process the lock is free at once, with one it is not" {
  two_crashed_holders
}
@test "P42: two crashed holders, in sqlite" {
  DLOCK_URL=sqlite://$T/locks.db
  two_crashed_holders
}
@test "P42: two crashed holders, in etcd" {
  DLOCK_URL=$ETCD_URL
  clean_keys
  two_crashed_holders
}

@test "P42: a run that dies before its first renewal keeps the lock until its lease ends" {
  dlock_run early --ttl 60s early -- "$TICKER" "$TICKS"
  eventually 10s ticking
  crash early
  eventually 5s ticker_gone
  claim 75 early
}

@test "P42: a hold of acquire, and one with --contain, are not freed" {
  eval "$("$DLOCK" acquire --ttl 60s steps)"
  "$DLOCK" renew steps
  unset DLOCK_OWNER DLOCK_HOLDS
  claim 75 steps
  holds contained --contain contained -- sleep 60
  crash contained
  claim 75 contained
}

@test "P42: a guard that lives keeps the lock until it is dead" {
  local guard
  holds guarded guarded -- sleep 60
  guard=$(guard_of "$guarded_pid")
  kill -STOP "$guarded_pid" "$guard"
  kill -KILL "$guarded_pid"
  eventually 5s reaped "$guarded_pid"
  claim 75 guarded
  kill -KILL "$guard"
  eventually 5s reaped "$guard"
  claim 0 guarded
  freed guarded
}

@test "P42: a process in a session of its own keeps the lock while it has the hold in its environment" {
  holds daemon daemon -- sh -c 'setsid -f "$0" "$1"; exec sleep 60' "$TICKER" "$TICKS"
  eventually 10s ticking
  crash daemon
  claim 75 daemon
  kill -KILL "$(ticker)"
  eventually 5s ticker_gone
  claim 0 daemon
  freed daemon
}

@test "P42: a claim of another user, who may not look at all processes, leaves the lock to the lease" {
  local port nobody=(setpriv --reuid nobody --regid nogroup --clear-groups)
  [ "$(id -u)" = 0 ] || skip "only root can become another user"
  port=$(free_port)
  second_redis --port "$port"
  DLOCK_URL=redis://127.0.0.1:$port
  holds mine mine -- sh -c 'setsid -f "$0" "$1"; exec sleep 60' "$TICKER" "$TICKS"
  eventually 10s ticking
  crash mine
  run -75 --separate-stderr "${nobody[@]}" "$DLOCK" run -n mine -- true
  kill -KILL "$(ticker)"
  eventually 5s ticker_gone
  run -75 --separate-stderr "${nobody[@]}" "$DLOCK" run -n mine -- true
  claim 0 mine
  freed mine
}

@test "P42: a waiter and dlock wait get the lock long before the lease ends" {
  begins a a -- sleep 60
  dlock_run waiter -w 60s a -- true
  eventually 20s renewed a
  crash a
  ends 10s waiter "exit 0" # with its next heartbeat
  grep -q '^dlock: freed "a" of ' "$T/waiter.err"
  holds b b -- sleep 60
  crash b
  run -0 --separate-stderr "$DLOCK" wait -w 0 b
  freed b
}

@test "P42: of several names each is freed, and the tokens grow" {
  begins a a -- sh -c 'echo $DLOCK_TOKEN; exec sleep 60'
  holds b b -- sleep 60
  eventually 20s renewed a
  crash a
  crash b
  run -0 --separate-stderr "$DLOCK" run -n --and b a -- sh -c 'echo ${DLOCK_TOKEN%% *}'
  freed a
  freed b
  [ "$output" -gt "$(cat "$T/a.out")" ]
}

@test "P42: the same pids in another pid namespace prove nothing" {
  unshare -pf --mount-proc true || skip "cannot make a pid namespace here"
  # The first process there reaps what is orphaned, as bash does.
  spawn space unshare -pf --mount-proc bash -c '
    "$DLOCK" run -v --ttl 21s far -- sleep 60 2>"$0/far.err" &
    until grep -q "dlock: renewed" "$0/far.err"; do sleep 0.05; done
    guard=$(pgrep -P $! -x lease-guard)
    kill -STOP $!
    kill -KILL $guard $!
    wait $!
    touch "$0/crashed"
    until [ -e "$0/go" ]; do sleep 0.05; done
    until [ -z "$(ps -C sleep,lease-guard -o pid=)" ]; do :; done
    "$DLOCK" -vv run -n far -- true 2>"$0/claim.err"' "$T"
  eventually 40s test -e "$T/crashed"
  claim 75 far
  touch "$T/go"
  ends 20s space "exit 0" || fail "$(cat "$T/claim.err")"
  file_has "$T/claim.err" 'dlock: freed "far" of '
}
