#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Whatever happens to dlock, its command and all of its group are dead before the lease ends: at
# once when dlock has died, in time when it stands still. Nothing happens to the command when it is
# the guard that dies or stands still.
# *_pid are set by spawn; '…' is for inner shells; every test is a shell of its own.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../support/suite
suite server ticker faults

# holds NAME [OPTION…]: a holder `a`, lease 3 s, whose command is two processes deaf to TERM.
holds() {
  deaf_tree "$TICKS"
  dlock_run a --ttl 3s "${@:2}" "$1" -- "${DEAF[@]}"
  eventually 10s two_tick
}

@test "P01: dlock is killed: the whole group is dead at once, others wait for its lease" {
  local i pauses=(0 0.5 1.5) at
  for i in 0 1 2; do
    rm -f "$TICKS"
    deaf_tree "$TICKS"
    dlock_run a --ttl 5s "killed-$i" -- "${DEAF[@]}"
    eventually 10s two_tick
    sleep "${pauses[i]}"
    kill -KILL "$a_pid"
    at=$(boot_ms)
    ends 5s a "signal 9"
    dead_by $((at + 1000))
    key_exists "killed-$i"
    dlock_run "next$i" -w 30 "killed-$i" -- true
  done
  for i in 0 1 2; do
    ends 20s "next$i" "exit 0"
    assert_free "killed-$i"
  done
}

@test "P02: dlock is killed at any moment of the start: nothing is left of the command" {
  local i hit=0
  for i in $(seq 0 20 300); do
    deaf_tree "$T/ticks-$i"
    dlock_run "s$i" --ttl 1s "start-$i" -- "${DEAF[@]}"
    sleep "0.$(printf %03d "$i")"
    # On a machine that stood still the lease may have been over first.
    if kill -KILL "$(cat "$T/s$i.pid")" 2>/dev/null; then hit=$((hit + 1)); else gone "$(cat "$T/s$i.pid")"; fi
  done
  [ "$hit" -ge 7 ]
  eventually 5s nobody_runs "$T/ticks-"
  for i in $(seq 0 20 300); do eventually 5s is_free "start-$i"; done
}
nobody_runs() { ! pgrep -f -- "$1" >/dev/null; }

@test "P03: dlock and guard are killed together: what the command started runs on" {
  dlock_run a --ttl 2s both -- \
    sh -c "echo \$DLOCK_TOKEN >$T/token; $TICKER $T/ticks-grandchild & exec $TICKER $TICKS"
  eventually 10s ticking
  eventually 10s ticking "$T/ticks-grandchild"
  local guard
  guard=$(guard_of "$a_pid")
  kill -STOP "$a_pid" # so that it cannot replace it
  kill -KILL "$guard" "$a_pid"
  ends 5s a "signal 9"
  eventually 5s ticker_gone
  run -0 "$DLOCK" run -q -w 20 both -- sh -c 'echo $DLOCK_TOKEN'
  [ "$output" -gt "$(cat "$T/token")" ]
  # As it is said: two run now.
  local at
  at=$(boot_ms)
  eventually 5s ticked_after "$at" "$T/ticks-grandchild"
}
ticked_after() { [ "$(last_tick "$2")" -gt "$1" ]; }

# by_name TTL NAME PKILL-WORD…: whether pkill of these words ends the ticker that a run of NAME has left
# in the background, in a pid namespace of its own, where the words find nobody else's processes.
by_name() {
  ln -sf "$TICKER" "$T/ticker"
  # shellcheck disable=SC2016  # for the shell there
  T=$T unshare -pf --mount-proc sh -c 'cd "$T" && rm -f ticks || exit 2
    within_20s() { for _ in $(seq 1000); do ! "$@" || return 0; sleep 0.02; done; return 1; }
    no_ticker() { ! ps -C ticker -o stat= | grep -qv Z; }
    "$DLOCK" run --ttl "$1" "$2" -- sh -c "./ticker ticks ignore 15 & wait" &
    within_20s grep -qs tick ticks || exit 3
    shift 2
    pkill "$@" || exit 4
    within_20s no_ticker' sh "$@" 3>&-
}

@test "P39: all that is called dlock is killed: the guard is not, and the whole group is dead" {
  unshare -pf --mount-proc true 2>/dev/null || skip "no right to make a pid namespace"
  by_name 30s by-comm -KILL dlock
  by_name 30s by-words -KILL -f 'dlock run'
  by_name 30s my-dlock-job -KILL -f my-dlock-job # as the name of the lock, too
  by_name 5s by-all -KILL -f dlock
  run -75 --separate-stderr "$DLOCK" run -n by-all -- true
  run -0 --separate-stderr "$DLOCK" run -q -w 30 by-all -- true
}

@test "P39: all that is called dlock is stopped: the guard is not, and the whole group dies in time" {
  unshare -pf --mount-proc true 2>/dev/null || skip "no right to make a pid namespace"
  by_name 2s stopped-by-name -STOP -f dlock
}

@test "P04: dlock is stopped for longer than the lease: dead in time, then 79 and only a release" {
  holds stopped
  kill -STOP "$a_pid"
  local server_end
  server_end=$(server_end_of stopped)
  dlock_run b -w 30 stopped -- "$TICKER" "$T/ticks-next" for 20
  ends 20s b "exit 0"
  dead_by "$server_end"
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-next")" ]
  redis-cli -s "$REDIS_SOCKET" monitor >"$T/monitor" 3>&- &
  STARTED+=($!)
  eventually 5s file_has "$T/monitor" OK
  kill -CONT "$a_pid"
  ends 5s a "exit 79"
  r echo marker >/dev/null
  eventually 5s file_has "$T/monitor" marker
  # A renewal would set the lease; a release takes its record away.
  run ! grep -qiE 'lua\] "(hset|pexpire)"' "$T/monitor"
  assert_free stopped
}

@test "P06: dlock is stopped at any moment of the start: nothing runs past the lease" {
  local i free_at hit=0
  for i in $(seq 0 25 300); do
    deaf_tree "$T/ticks-$i"
    dlock_run "s$i" --ttl 1s "start-stop-$i" -- "${DEAF[@]}"
    sleep "0.$(printf %03d "$i")"
    # On a machine that stood still the lease may have been over first.
    if kill -STOP "$(cat "$T/s$i.pid")" 2>/dev/null; then hit=$((hit + 1)); else gone "$(cat "$T/s$i.pid")"; fi
  done
  [ "$hit" -ge 7 ]
  sleep 1.2 # the leases are over: those that had one
  for i in $(seq 0 25 300); do eventually 5s is_free "start-stop-$i"; done
  free_at=$(boot_ms)
  run ! pgrep -f "$TICKER $T/ticks-"
  sleep 0.3
  for i in $(seq 0 25 300); do
    [ ! -s "$T/ticks-$i" ] || [ "$(last_tick "$T/ticks-$i")" -lt "$free_at" ]
    kill -CONT "$(cat "$T/s$i.pid")" 2>/dev/null || true
  done
  # Those that had not asked yet begin now, the others find their lease over.
  for i in $(seq 0 25 300); do
    eventually 20s ended_or_ticking "$i"
    kill -TERM "$(cat "$T/s$i.pid")" 2>/dev/null || true
    eventually 10s ended "s$i"
    grep -qE '^(exit (79|69)|signal (15|9))$' "$T/s$i.end"
  done
  eventually 5s nobody_runs "$T/ticks-"
}

ended_or_ticking() { ended "s$1" || ticking "$T/ticks-$1"; }

@test "P07: the guard is killed or stopped: replaced, and the new one kills the group in time" {
  dlock_run a --ttl 60s -v replaced -- "$TICKER" "$TICKS" ignore 15 fork
  eventually 10s ticking
  local guard signal at
  # Seen at once, long before the next renewal.
  for signal in KILL STOP TERM KILL; do
    guard=$(guard_of "$a_pid")
    kill -"$signal" "$guard"
    [ "$signal" = TERM ] || eventually 5s other_guard "$a_pid" "$guard"
  done
  [ "$(grep -c 'guard process restarted: it was' "$T/a.err")" = 3 ]
  alive "$a_pid"
  kill -KILL "$a_pid"
  at=$(boot_ms)
  ends 5s a "signal 9"
  dead_by $((at + 1000))
}

@test "P07: a guard that hangs is noticed by the next renewal but one" {
  dlock_run a --ttl 6s -k 200ms silent -- "$TICKER" "$TICKS" until "$T/go" code 6
  eventually 10s ticking
  local guard
  guard=$(guard_of "$a_pid")
  hold_thread debugger "$guard"
  eventually 12s other_guard "$a_pid" "$guard"
  touch "$T/go"
  ends 15s a "exit 6"
  assert_free silent
}

@test "P07: guards that die again and again do not disturb the command" {
  dlock_run a --ttl 3s -k 200ms unlucky -- "$TICKER" "$TICKS" for 4500 code 6
  eventually 10s ticking
  local killed=0
  while ! ended a; do
    pkill -KILL -P "$a_pid" -x lease-guard && killed=$((killed + 1))
    sleep 0.02
  done
  ends 5s a "exit 6"
  [ "$killed" -ge 3 ]
  assert_free unlucky
}

@test "P08: everything is frozen for longer than the lease: killed when it thaws, 79" {
  make_cgroup freeze
  in_cgroup
  deaf_tree "$TICKS"
  spawn a "${IN_CGROUP[@]}" "$DLOCK" run --ttl 1s frozen -- "${DEAF[@]}"
  eventually 10s two_tick
  local token at
  token=$(r get 'redisson_lock_token:{dlock:frozen}')
  echo 1 >"$CGROUP/cgroup.freeze"
  run -0 "$DLOCK" run -q -w 20 frozen -- sh -c 'echo $DLOCK_TOKEN'
  [ "$output" -gt "$token" ]
  r hset dlock:frozen foreign:1 1
  at=$(boot_ms)
  echo 0 >"$CGROUP/cgroup.freeze"
  ends 5s a "exit 79"
  # Some instructions, as it is said; but the clock is the first thing that dlock and guard read.
  dead_by $((at + 1000))
  [ "$(r hgetall dlock:frozen)" = $'foreign:1\n1' ]
}

@test "P09: dlock hardly gets the processor: in time, or undisturbed" {
  make_cgroup cpu
  local i
  for i in 1 2 3 4 5 6; do
    deaf_tree "$T/ticks-$i"
    dlock_run "a$i" --ttl 1s "starved-$i" -- "${DEAF[@]}"
    dlock_run "b$i" -w 60 "starved-$i" -- "$TICKER" "$T/ticks-next-$i" for 20
    eventually 10s two_tick "$T/ticks-$i"
  done
  # All of them together a millisecond a second; their guards are not among them.
  cgroup_set cpu.cfs_period_us=1000000 cpu.max="1000 1000000"
  cgroup_set cpu.cfs_quota_us=1000 cpu.max="1000 1000000"
  for i in 1 2 3 4 5 6; do
    # On a machine that stood still the lease may have been over first.
    cat "$T/a$i.pid" >"$CGROUP/cgroup.procs" 2>/dev/null || gone "$(cat "$T/a$i.pid")"
  done
  sleep 4
  cgroup_set cpu.cfs_quota_us=-1 cpu.max=max
  local stopped=0
  for i in 1 2 3 4 5 6; do
    if ! alive "$(awk '{print $2; exit}' "$T/ticks-$i")"; then stopped=$((stopped + 1)); fi
    kill -TERM "$(cat "$T/a$i.pid")" 2>/dev/null || true
    ends 20s "b$i" "exit 0"
    eventually 10s ended "a$i"
    ticker_gone "$T/ticks-$i"
    [ "$(last_tick "$T/ticks-$i")" -lt "$(first_tick "$T/ticks-next-$i")" ]
  done
  [ "$stopped" -gt 0 ] # it was worth trying
}

@test "P10: dlock is killed for want of memory: the whole group is dead at once" {
  make_cgroup memory
  holds hungry
  cgroup_set memory.limit_in_bytes=$((64 << 20)) memory.max=$((64 << 20))
  local command
  command=$(awk '{print $2; exit}' "$TICKS")
  [ "$(cat "/proc/$command/oom_score_adj")" -ge "$(cat "/proc/$a_pid/oom_score_adj")" ]
  echo "$a_pid" >"$CGROUP/cgroup.procs"
  echo 1000 >"/proc/$a_pid/oom_score_adj"
  local at
  at=$(boot_ms)
  # Four that eat in dlock's group until that has been killed: it is larger than any one of them
  # in the eyes of the kernel, by its score.
  local i
  for i in 1 2 3 4; do
    python3 -c 'import os, sys
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
eaten = []
while os.path.exists("/proc/" + sys.argv[2]): eaten.append(os.urandom(1 << 18))
' "$CGROUP" "$a_pid" >/dev/null 2>&1 3>&- &
    STARTED+=($!)
  done
  ends 20s a "signal 9"
  eventually 10s ticker_gone
  key_exists hungry || [ $(($(boot_ms) - at)) -gt 3000 ]
}
