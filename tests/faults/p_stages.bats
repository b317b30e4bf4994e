#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A signal at every stage of a run. dlock is stopped at a system call, by strace, or the proxy keeps
# a command for a while; then the signal comes and dlock goes on: it dies by it, nothing is started
# after it was seen, no process of the command is left, and no lock (after a KILL: for one lease).
# *_pid are set by spawn; every test is a shell of its own.
# shellcheck disable=SC2154,SC2030,SC2031

load ../support/suite
suite server ticker faults

setup() {
  set_up
  command -v strace >/dev/null || skip "needs strace"
}

signals="INT TERM HUP QUIT KILL"
pid_of() { cat "$T/$1.pid"; }

# signalled_at CALL N COMMAND…: for each signal a dlock that stops itself when its main thread
# makes that system call for the N-th time; then it gets the signal and goes on.
signalled_at() {
  local s
  for s in $signals; do
    stops_at "$s" "$1" "$2" "" "${@:3}"
    signalled "$s"
  done
}
stops_at() { # SIGNAL CALL N OPTION COMMAND…
  local ttl=30s # a busy machine may take its time
  [ "$1" != KILL ] || ttl=3s # which is how long its lock stays
  # shellcheck disable=SC2086  # no option is no word
  spawn "$1" strace -D $4 -qq -o "$T/$1.trace" -e "trace=$2" -e "inject=$2:signal=SIGSTOP:when=$3" \
    "$DLOCK" run --ttl "$ttl" "$STAGE-$1" -- "${@:5}"
  eventually 10s file_has "$T/$1.trace" "stopped by SIGSTOP"
}
signalled() {
  kill -"$1" "$(pid_of "$1")"
  kill -CONT "$(pid_of "$1")" 2>/dev/null || true
}

# all_end_by_it: every dlock has died by its signal, and has left nothing.
all_end_by_it() {
  local s
  for s in $signals; do ends 10s "$s" "signal $(kill -l "$s")"; done
  nothing_left
}
# all_end_with CODE: as the command did, which was over already; but not the killed one.
all_end_with() {
  local s
  for s in INT TERM HUP QUIT; do ends 10s "$s" "exit $1"; done
  ends 10s KILL "signal 9"
  nothing_left
}
nothing_left() {
  local s
  eventually 5s nobody_runs
  for s in $signals; do eventually 10s is_free "$STAGE-$s"; done
}
nobody_runs() { ! pgrep -f "$TICKER $T/ticks" >/dev/null; }
nothing_started() { run ! compgen -G "$T/ticks*"; }

# signalled_through_proxy MODE… -- COMMAND…: for each signal a dlock with its own proxy; it gets
# the signal as soon as the fault is there.
signalled_through_proxy() {
  local s mode=()
  while [ "$1" != -- ]; do
    mode+=("$1")
    shift
  done
  shift
  for s in $signals; do
    (T=$T/$s-proxy && mkdir "$T" && start_proxy && proxy "${mode[@]}" &&
      echo "$PROXY_URL" >"$T/url" && echo "${STARTED[-1]}" >"$T/../$s-proxy.pid")
  done
  for s in $signals; do
    DLOCK_URL=$(cat "$T/$s-proxy/url") dlock_run "$s" --ttl 2s "$STAGE-$s" -- "$@"
    eventually 10s grep -q '^-- ' "$T/$s-proxy/proxy.log"
    kill -"$s" "$(pid_of "$s")"
  done
}

@test "P30: a signal before anything was asked" {
  STAGE=early
  signalled_at signalfd4 1 "$TICKER" "$TICKS"
  all_end_by_it
  nothing_started
}

@test "P30: a signal between the connection and the question" {
  STAGE=connected
  local s
  for s in $signals; do
    stops_at "$s" connect 1 -f "$TICKER" "$TICKS" # the store thread's
    signalled "$s"
  done
  all_end_by_it
  nothing_started
}

@test "P30: a signal while the question is on its way" {
  STAGE=asking
  signalled_through_proxy hold 1 EVALSHA 1000 -- "$TICKER" "$TICKS"
  all_end_by_it
  all_arrive
  nothing_left
  nothing_started
}
# What was on its way has come to the server, too late for its dlock.
all_arrive() {
  local s
  for s in $signals; do eventually 10s grep -qFx -- '-- arrived' "$T/$s-proxy/proxy.log"; done
}

@test "P30: a signal when the server has granted and the answer is lost" {
  STAGE=unheard
  signalled_through_proxy drop 1 EVALSHA mute -- "$TICKER" "$TICKS"
  all_end_by_it
  nothing_started
}

@test "P30: a signal when the answer is there and the command is about to be forked" {
  STAGE=granted
  local s
  for s in $signals; do
    stops_at "$s" clone 2 "" "$TICKER" "$T/ticks-$s" # the first one was the guard
    [ ! -e "$T/ticks-$s" ]
    key_exists "$STAGE-$s"
    signalled "$s"
  done
  all_end_by_it
}

@test "P30: a signal when the command has been forked" {
  STAGE=forked
  signalled_at setpgid 1 "$TICKER" "$TICKS"
  all_end_by_it
}

@test "P30: a signal while the command is in exec" {
  STAGE=execing
  local s
  for s in $signals; do
    spawn "$s" strace -D -f -qq -o "$T/$s.trace" -e trace=execve \
      -e inject=execve:delay_enter=2000000:when=1 \
      "$DLOCK" run --ttl 8s -k 3s "$STAGE-$s" -- "$TICKER" "$TICKS"
    eventually 15s forked "$s"
    kill -"$s" "$(pid_of "$s")"
  done
  all_end_by_it
  nothing_started # the signal was there before its first instruction
}
forked() { pgrep -P "$(pid_of "$1")" | grep -qvxF "$(guard_of "$(pid_of "$1")")"; }

@test "P30: a signal while the command runs" {
  STAGE=running
  local s
  for s in $signals; do
    dlock_run "$s" --ttl 3s "$STAGE-$s" -- "$TICKER" "$T/ticks-$s" fork
    eventually 10s two_tick "$T/ticks-$s"
    signalled "$s"
  done
  all_end_by_it
}

@test "P30: a signal when TERM has been sent" {
  STAGE=term
  local s
  for s in $signals; do
    dlock_run "$s" --ttl 20s "$STAGE-$s" -- "$TICKER" "$T/ticks-$s" catch 15
    eventually 10s ticking "$T/ticks-$s"
    kill -TERM "$(pid_of "$s")"
    eventually 10s grep -q signal-15 "$T/ticks-$s"
    signalled "$s"
  done
  # INT and TERM are the second one then: a KILL at once. The command does not catch the others.
  for s in $signals; do
    eventually 5s ended "$s"
    grep -qE "^signal ($(kill -l "$s")|9|15)$" "$T/$s.end"
  done
  eventually 5s nobody_runs
  for s in INT TERM HUP QUIT; do assert_free "$STAGE-$s"; done
  r del "dlock:$STAGE-KILL"
}

@test "P30: a signal while the release is on its way" {
  STAGE=releasing
  signalled_through_proxy hold 2 EVALSHA 1000 -- sh -c 'exit 7'
  all_end_with 7
  all_arrive
  nothing_left
}

@test "P30: a signal when the lock is released and the command is about to be reaped" {
  STAGE=released
  local s
  for s in $signals; do
    stops_at "$s" wait4 1 "" sh -c 'exit 7'
    assert_free "$STAGE-$s"
    signalled "$s"
  done
  all_end_with 7
}

@test "P04: a dlock that is frozen between the calls of its KILL leaves no process alive" {
  spawn a strace -D -qq -o "$T/a.trace" -e trace=kill -e inject=kill:signal=SIGSTOP:when=3 \
    "$DLOCK" run --ttl 3s killing -- "$TICKER" "$TICKS" ignore 15 fork
  eventually 10s ticking
  kill -TERM "$a_pid" # TERM and CONT for the group
  eventually 5s grep -q SIGCONT "$T/a.trace"
  kill -TERM "$a_pid" # KILL
  eventually 10s file_has "$T/a.trace" "stopped by SIGSTOP"
  eventually 10s ticker_gone
  kill -CONT "$a_pid"
  ends 10s a "signal 15" || ends 1s a "signal 9"
}
