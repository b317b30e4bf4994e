#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Parts of dlock that hang, crash or are held, commands in pieces, numbers that are used again: the
# right processes get the signals, in time, and nobody else does.
# *_pid are set by spawn; '…' is for inner shells; every test is a shell of its own.
# shellcheck disable=SC2154,SC2013,SC2016,SC2030,SC2031

load ../support/suite
suite server ticker faults

@test "P19: a command that is deaf to TERM is cut off: TERM, KILL, end, all before the lease ends" {
  start_proxy
  deaf_tree "$TICKS"
  DLOCK_URL=$PROXY_URL dlock_run a -v --log-format json --ttl 3s deaf -- "${DEAF[@]}"
  eventually 10s grep -q '"renewed"' "$T/a.err"
  proxy blackhole
  ends 15s a "exit 79"
  local names safe_until
  names=$(python3 -S "$PROGRAMS/events.py" "$T/a.err" names)
  [[ $names =~ lapsing.*\ term\ .*kill\ .*reaped ]] || { echo "$names"; false; }
  [[ $names != *released* ]]
  safe_until=$(python3 -S "$PROGRAMS/events.py" "$T/a.err" get renewed@last safe_until_ns)
  dead_by $((safe_until / 1000000))
}

@test "P23: a pipeline that is cut off is dead before its lease ends, all of it" {
  start_proxy
  DLOCK_URL=$PROXY_URL dlock_run a --ttl 2s pipeline -- sh -c \
    "trap '' TERM; $TICKER $T/ticks-1 ignore 15 | $TICKER $T/ticks-2 ignore 15 | cat"
  eventually 10s ticking "$T/ticks-1"
  eventually 10s ticking "$T/ticks-2"
  proxy blackhole
  local server_end
  server_end=$(server_end_of pipeline)
  dlock_run b -w 30 pipeline -- "$TICKER" "$T/ticks-next" for 20
  ends 10s a "exit 79"
  dead_by "$server_end" "$T/ticks-1"
  dead_by "$server_end" "$T/ticks-2"
  ends 10s b "exit 0"
  [ "$(last_tick "$T/ticks-1")" -lt "$(first_tick "$T/ticks-next")" ]
}

@test "P24: a hundred pids of dead commands are asked for again: none is reused, no other process is hit" {
  unshare -pf --mount-proc true 2>/dev/null ||
    skip "no right to make a namespace of process numbers"
  start_proxy
  DLOCK_URL=$PROXY_URL spawn a unshare -pf --mount-proc \
    python3 "$PROGRAMS/pid_reuse.py" "$DLOCK" 100 "$T"
  eventually 60s test -e "$T/ready"
  proxy blackhole # so that no dlock gets its lock released, and none is gone before its signal
  touch "$T/go"
  eventually 90s ended a
  cat "$T/a.out" "$T/a.err"
  [ "$(cat "$T/a.end")" = "exit 0" ]
  # The dead leader keeps its number from being given away.
  [ "$(cat "$T/a.out")" = "100 innocents, 0 with a used number" ]
}

has_a_second_thread() {
  local thread
  threads=()
  for thread in "/proc/$a_pid/task"/*; do
    [ "${thread##*/}" = "$a_pid" ] || threads+=("${thread##*/}")
  done
  [ "${#threads[@]}" = 1 ]
}
@test "P26: the store thread hangs for good: dead before the lease ends, 79" {
  deaf_tree "$TICKS"
  dlock_run a --ttl 2s thread -- "${DEAF[@]}"
  eventually 10s two_tick
  local threads=()
  eventually 5s has_a_second_thread # with the first renewal
  hold_thread stuck "${threads[@]}"
  local server_end
  server_end=$(server_end_of thread)
  ends 10s a "exit 79" # it does not wait for an answer that never comes
  dead_by "$server_end"
  eventually 5s is_free thread
}

@test "P28: a kernel without pidfd_open makes no difference" {
  command -v strace >/dev/null || skip "needs strace"
  local error
  for error in ENOSYS EPERM; do
    run -5 strace -f -qq -o "$T/trace" -e trace=pidfd_open,pidfd_send_signal \
      -e "inject=pidfd_open,pidfd_send_signal:error=$error" \
      "$DLOCK" run old-kernel -- sh -c "(trap '' TERM; sleep 60) & exit 5"
    assert_free old-kernel
  done
}

@test "P28: a filter that allows pidfd_open and refuses pidfd_send_signal keeps no signal from a contained daemon" {
  command -v strace >/dev/null || skip "needs strace"
  run -143 strace -f -qq -o "$T/trace" -e trace=pidfd_send_signal \
    -e inject=pidfd_send_signal:error=EPERM \
    "$DLOCK" run --contain -k 3s filter -- sh -c "setsid -f $TICKER $TICKS catch 15
    until grep -qs tick $TICKS; do sleep 0.02; done; kill -TERM \$PPID; exec sleep 60"
  grep -q EPERM "$T/trace"
  grep -q ' signal-15$' "$TICKS"
  ticker_gone
  assert_free filter
}

@test "P31: every signal that dlock may get: both live on, or neither does" {
  local n number file crashes=handle_segv=0:handle_sigbus=0:handle_sigfpe=0 # not a sanitizer's
  export ASAN_OPTIONS=${ASAN_OPTIONS:-}:$crashes TSAN_OPTIONS=${TSAN_OPTIONS:-}:$crashes
  for n in 1 2 3 4 5 6 7 8 10 11 12 13 14 15 16 17 18 23 24 25 26 27 28 29 30 31 34 50 64; do
    dlock_run "s$n" --ttl 20s "signal-$n" -- "$TICKER" "$T/ticks-$n" fork
  done
  for n in "$T"/s*.pid; do
    number=$(basename "$n" .pid)
    file=$T/ticks-${number#s}
    eventually 10s two_tick "$file"
    kill -"${number#s}" "$(cat "$n")"
  done
  for n in "$T"/s*.pid; do
    number=$(basename "$n" .pid)
    file=$T/ticks-${number#s}
    eventually 10s both_or_neither "$number" "$file" ||
      { echo "signal ${number#s}: $(cat "$T/$number.end")"; false; }
  done
  # A crash is one of those that end both.
  [ "$(cat "$T/s11.end")" = "signal 11" ]
  [ "$(cat "$T/s6.end")" = "signal 6" ]
  [ ! -e "$T/s28.end" ]
}
both_or_neither() {
  if ended "$1"; then ticker_gone "$2"; else still_two "$2"; fi
}
still_two() {
  local pid
  for pid in $(awk '{print $2}' "$1" | sort -u); do alive "$pid" || return 1; done
}

@test "P36: lost in the instant the command ends, 200 times: 79 only if it was stopped for it" {
  local i round name code pids wrong outcome
  for round in 1 2 3 4 5 6 7 8; do
    pids=()
    for i in $(seq 25); do
      name=a${round}x$i
      # The first renewal, 1 s after the grant, finds the key gone; the command ends about then, on a
      # machine that is busy as well.
      "$DLOCK" run --ttl 3s --result-file "$T/$name.result" "$name" -- sh -c \
        "redis-cli -s $REDIS_SOCKET del dlock:$name >/dev/null
          sleep 0.3; sleep 0.$(printf %03d $((i * 34))); exit 5" \
        2>"$T/$name.err" 3>&- &
      pids+=($!)
    done
    for i in $(seq 25); do
      name=a${round}x$i code=0
      wait "${pids[i - 1]}" || code=$?
      echo "$code" >>"$T/codes"
      case $code in
        5) wrong=$(grep stopping "$T/$name.err" || true) outcome=child ;;
        79) wrong=$(grep -q stopping "$T/$name.err" || echo "79 without a word") outcome=lost ;;
        *) wrong="exit $code" ;;
      esac
      [ "$wrong" = "" ] || { echo "$wrong"; false; }
      grep -q "\"outcome\":\"$outcome\"" "$T/$name.result"
    done
  done
  # Both happened, or the instant was missed.
  grep -qx 5 "$T/codes"
  grep -qx 79 "$T/codes"
}

@test "P37: init stops the unit: TERM to all is a clean end, KILL of all leaves only the lease" {
  make_cgroup kill
  in_cgroup
  spawn a "${IN_CGROUP[@]}" "$DLOCK" run --ttl 2s unit -- "$TICKER" "$TICKS" fork
  eventually 10s two_tick
  # shellcheck disable=SC2046  # pids are words
  kill -TERM $(cat "$CGROUP/cgroup.procs")
  ends 10s a "signal 15"
  ticker_gone
  assert_free unit
  rm "$TICKS"
  spawn a "${IN_CGROUP[@]}" "$DLOCK" run --ttl 2s unit -- \
    sh -c "setsid $TICKER $TICKS & $TICKER $TICKS"
  eventually 10s two_tick
  echo 1 >"$CGROUP/cgroup.kill"
  ends 5s a "signal 9"
  eventually 5s ticker_gone
  eventually 5s is_free unit
}

@test "P38: dlock aborts: the whole group is dead at once" {
  cd "$T"
  deaf_tree "$TICKS"
  dlock_run a --ttl 5s aborted -- "${DEAF[@]}"
  eventually 10s two_tick
  kill -ABRT "$a_pid"
  local at
  at=$(boot_ms)
  eventually 5s ended a
  grep -q '^signal 6' "$T/a.end" # with a core only where there is no password: cli/secrets
  dead_by $((at + 1000))
}

@test "P38: dlock is stopped in a debugger for longer than the lease: dead in time, then 79" {
  deaf_tree "$TICKS"
  dlock_run a --ttl 2s debugged -- "${DEAF[@]}"
  eventually 10s two_tick
  local threads=("/proc/$a_pid/task"/*) server_end
  hold_thread debugger "${threads[@]##*/}"
  server_end=$(server_end_of debugged)
  dlock_run b -w 30 debugged -- "$TICKER" "$T/ticks-next" for 20
  ends 20s b "exit 0"
  dead_by "$server_end"
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-next")" ]
  end_hold debugger
  ends 10s a "exit 79"
  assert_free debugged
}
