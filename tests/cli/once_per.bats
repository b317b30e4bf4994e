#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: --once-per skips a run if one of that name that succeeded was begun within the time, on
# whatever host; what failed does not count.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells
load ../support/suite
suite server empty modes

# skipped ARG…: `dlock run ARG… -- touch $MARKER` is not run, and that is a success that a line tells.
skipped() {
  run -0 --separate-stderr timeout 20 "$DLOCK" run "$@" -- touch "$MARKER"
  assert_one_line
  assert_stderr_has 'dlock: skipped "'
  assert_not_started
}
runs() {
  run -0 timeout 20 "$DLOCK" run "$@" -- touch "$MARKER"
  [ -e "$MARKER" ] || fail "not run"
  rm "$MARKER"
}

once() {
  run -0 "$DLOCK" run --once-per 1h job -- true
  skipped --once-per 1h job
  skipped --once-per 10m -n job
  skipped --once-per 2h job # it was begun within that time as well
  run -0 --separate-stderr "$DLOCK" run --once-per 1h job -- touch "$MARKER"
  [[ $stderr =~ ^dlock:\ skipped\ \"job\":\ a\ run\ that\ began\ [0-9.]+m?s\ ago\ succeeded\ \(--once-per\ 1h\)$ ]] ||
    fail "$stderr"
  run -0 --separate-stderr "$DLOCK" run -q --once-per 1h job -- touch "$MARKER"
  assert_no_stderr
  run -9 "$DLOCK" run -E 9 --once-per 1h job -- touch "$MARKER"
  assert_not_started
  runs job # one who does not ask runs
  runs --once-per 1h another
}
@test "a run within the interval is skipped: 0, and a line but for -q; -E changes the code" {
  once
  [ "$(r exists dlock:job)" = 0 ]
}
@test "a run within the interval is skipped: 0, and a line but for -q; -E changes the code, in a directory" {
  in_a_directory
  once
}

forget() {
  run -1 --separate-stderr "$DLOCK" forget job
  assert_equal "$stderr" 'dlock: no success of "job" is remembered: nothing to forget'
  run -0 "$DLOCK" run --once-per 1h job -- true
  run -0 "$DLOCK" inspect job
  assert_line -n 0 'job: free'
  assert_line -n 2 --regexp '^  a run that began [0-9.]+m?s ago succeeded; --once-per remembers it for (59m[0-9.]*s?|1h) more$'
  run -0 json '[(s["age_ms"] < 60000, s["left_ms"] > 3500000) for s in [d["locks"][0]["success"]]]' < <("$DLOCK" inspect --json job)
  assert_output '[[true, true]]'
  # Who holds it goes on.
  come k job
  enters k
  run -0 --separate-stderr "$DLOCK" forget job
  assert_one_line
  assert_stderr_has 'forgot the success of "job": a run that began'
  run -75 "$DLOCK" run -n job -- true
  go k
  ends 10s k "exit 0"
  run -1 "$DLOCK" -q forget job
  run -0 json 'd["locks"][0]["success"]' < <("$DLOCK" inspect --json job)
  assert_output null
  runs --once-per 1h job
  skipped --once-per 1h job
}
@test "inspect shows the success, and forget clears it and nothing else" { forget; }
@test "inspect shows the success, and forget clears it and nothing else, in a directory" {
  in_a_directory
  forget
}

failures_do_not_count() {
  run -3 "$DLOCK" run --once-per 1h job -- sh -c 'exit 3'
  run -127 "$DLOCK" run --once-per 1h job -- no-such-command
  run -124 "$DLOCK" run --once-per 1h --max-hold 200ms job -- sh -c 'trap "exit 0" TERM; while :; do sleep 0.02; done'
  come k --once-per 1h --ttl 3s job
  enters k
  kill -TERM "$k_pid"
  ends 10s k "signal 15"
  runs --once-per 1h job
  skipped --once-per 1h job
}
@test "a run that failed, was stopped or never began does not count" { failures_do_not_count; }
@test "a run that failed, was stopped or never began does not count, in a directory" {
  in_a_directory
  failures_do_not_count
}

@test "a lost run does not count, though its command succeeded" {
  come k --once-per 1h --on-lost warn --ttl 3s job
  enters k
  r del dlock:job >/dev/null
  eventually 15s grep -q lost "$T/k.err"
  touch "$T/k.go"
  eventually 10s ended k
  runs --once-per 1h job
}

@test "a run without --once-per records no success" {
  run -0 "$DLOCK" run job -- true
  runs --once-per 1h job
}

@test "the time is counted from the begin of the run, and then it runs again" {
  local first next=""
  first=$("$DLOCK" run --once-per 4s job -- sh -c 'echo "$DLOCK_TOKEN"; sleep 3')
  # Three of the four seconds are gone.
  local left
  left=$(r pttl 'dlock:done:{dlock:job}')
  [ "$left" -le 1000 ] || fail "$left ms"
  local end=$((SECONDS + 30))
  until [ -n "$next" ]; do
    [ "$SECONDS" -lt "$end" ] || fail "never again"
    next=$("$DLOCK" run --once-per 4s job -- sh -c 'echo "$DLOCK_TOKEN"')
  done
  # Tokens have microseconds; a run is known by the millisecond it began in.
  local after=$((next / 1000 - first / 1000))
  [ "$after" -ge 4000 ] || fail "after $after ms"
  [ "$after" -lt 6900 ] || fail "after $after ms: from the end?"
}

@test "the --once-per of the later run counts" {
  run -0 "$DLOCK" run --once-per 1h job -- true
  sleep 1.2
  runs --once-per 1s job
  skipped --once-per 1h job
}

waiting_is_over() {
  come a --once-per 1h job
  enters a
  come b --once-per 1h job
  come c -n --once-per 1h job
  ends 10s c "exit 75"
  go a
  ends 20s b "exit 0"
  outside b c
}
@test "a waiter in line is skipped when the run before it has succeeded, and leaves the line" {
  waiting_is_over
  in_line_are job 0
}
@test "a waiter is skipped when the run before it has succeeded, in a directory" {
  in_a_directory
  waiting_is_over
}

@test "a waiter behind a run that fails does run" {
  dlock_run a --once-per 1h job -- sh -c 'touch "$0/a.in"; until [ -e "$0/a.go" ]; do sleep 0.02; done; exit 3' "$T"
  eventually 10s test -e "$T/a.in"
  queue b --once-per 1h job
  touch "$T/a.go"
  ends 10s a "exit 3"
  enters b
  go b
}

@test "ten hosts at once: one runs" {
  local number
  for number in {1..10}; do
    # Another host: nothing of this process, its home or its ancestors is known there.
    dlock_run "h$number" --once-per 1h job -- sh -c 'echo ran >>"$0"; sleep 0.1' "$T/ran"
  done
  for number in {1..10}; do ends 30s "h$number" "exit 0"; done
  [ "$(wc -l <"$T/ran")" = 1 ]
}

@test "a nested run is not skipped: it belongs to the run above" {
  run -0 "$DLOCK" run --once-per 1h job -- true
  run -0 "$DLOCK" run job -- "$DLOCK" run --once-per 1h job -- touch "$MARKER"
  [ -e "$MARKER" ]
}

@test "several names: skipped only if all of them are done" {
  run -0 "$DLOCK" run --once-per 1h a -- true
  runs --once-per 1h --and b a
  skipped --once-per 1h --and a b
  skipped --once-per 1h b
}

@test "with --min-hold and in other modes as well" {
  run -0 "$DLOCK" run --once-per 1h --min-hold 20s kept -- true
  skipped --once-per 1h kept # done comes first, though the lock is taken
  run -75 "$DLOCK" run -n kept -- touch "$MARKER"
  run -0 "$DLOCK" run --once-per 1h -s read -- true
  skipped --once-per 1h -s read
  run -0 "$DLOCK" run --once-per 1h --slots 2 pool -- true
  skipped --once-per 1h --slots 2 pool
}

@test "a remembered success expires" {
  run -0 "$DLOCK" run --once-per 2s job -- true
  [ "$(r exists 'dlock:done:{dlock:job}')" = 1 ]
  [ "$(r pttl 'dlock:done:{dlock:job}')" -le 2000 ]
  eventually 5s assert_no_keys
}
