#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: inspect shows who ran last under a name, when, and how that ended, and tells a run that could
# not report its end from one that did. The suites of the other stores call `tells_the_last_run`.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells
load ../support/suite
suite server empty modes cli supervise ticker store_cases

LAST='dlock:last:{dlock:job}'

@test "the last run: who, when, how it ended" {
  tells_the_last_run
}
@test "the last run: who, when, how it ended, in a directory" {
  in_a_directory
  tells_the_last_run
}

@test "the last run: it is kept for a day, or as long as --keep-last says, and 0 is not at all" {
  "$DLOCK" run job -- true
  [ "$(r pttl "$LAST")" -gt 86000000 ]
  [ "$(r pttl "$LAST")" -le 86400000 ]
  "$DLOCK" run --keep-last 30d job -- true
  [ "$(r pttl "$LAST")" -gt 2590000000 ]
  r del "$LAST"
  "$DLOCK" run --keep-last 0 job -- true
  DLOCK_KEEP_LAST=0 "$DLOCK" run job -- true
  [ "$(r exists "$LAST")" = 0 ]
}

@test "the last run: one that was killed cannot report its end, and inspect says so" {
  run -0 "$DLOCK" run job -- true
  spawn dies "$DLOCK" run --ttl 2s job -- sleep 60
  eventually 10s "$DLOCK" inspect -q job
  run -0 "$DLOCK" inspect job
  refute_output --partial 'a later run'
  local command
  command=$(pgrep -P "$dies_pid" -x sleep)
  kill -KILL "$dies_pid"
  eventually 10s gone "$command"
  eventually 10s not "$DLOCK" inspect -q job
  run -0 "$DLOCK" inspect job
  assert_output --partial ': exit status 0'
  assert_line '  a later run did not report its end: it was killed, lost its lease, or ran with --keep-last 0'
  run -0 "$DLOCK" run job -- true
  run -0 "$DLOCK" inspect job
  refute_output --partial 'a later run'
}
not() { ! "$@"; }

@test "the last run: one with --keep-last 0 does not report its end, and the line names that cause, too" {
  run -0 "$DLOCK" run job -- true
  run -1 "$DLOCK" run --keep-last 0 job -- false
  run -0 "$DLOCK" inspect job
  assert_output --partial ': exit status 0'
  assert_line '  a later run did not report its end: it was killed, lost its lease, or ran with --keep-last 0'
}

@test "the last run: what never ran leaves none; what could not start, was stopped or was skipped says so" {
  hold other
  run -75 "$DLOCK" run -n other -- true
  run -0 json '[d["locks"][0]["last"]]' < <("$DLOCK" inspect --json other)
  assert_output '[null]'
  run -127 "$DLOCK" run job -- ./no-such-program
  run -0 "$DLOCK" inspect job
  assert_output --partial ': failed'
  run -124 "$DLOCK" run --max-hold 200ms job -- sleep 60
  run -0 "$DLOCK" inspect job
  assert_output --partial ': time_up, signal 15'
  run -0 "$DLOCK" run --once-per 1h job -- true
  run -0 "$DLOCK" run --once-per 1h job -- false
  run -0 "$DLOCK" inspect job
  assert_output --partial ': exit status 0'
}

@test "the last run: a server that refuses the note releases all the same" {
  r rpush "$LAST" theirs
  r acl setuser limited on nopass '~dlock:holds:*' '~dlock:job' '~dlock:revoked:*' '~dlock:line:*' \
    '~dlock:waiters:*' '~dlock:done:*' '~redisson_lock_token:*' '&*' +@all
  DLOCK_URL="${DLOCK_URL/unix:\/\//unix:\/\/limited@}" run --separate-stderr "$DLOCK" run job -- true
  [ "$status" = 0 ] || fail "$stderr"
  [ -z "$stderr" ]
  [ "$(r exists dlock:job)" = 0 ]
  [ "$(r type "$LAST")" = list ]
}
