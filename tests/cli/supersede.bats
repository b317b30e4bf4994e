#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: with --supersede the newest run wins, and no run is ended that did not say so. The suites
# of the other stores call supersedes and supersedes_the_holder as well.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells
load ../support/suite
suite server cli supervise line supersede

@test "supersede: of the runs that wait only the newest goes on" {
  supersedes
}

@test "supersede: a holder that said so is revoked, and no other" {
  supersedes_the_holder
}

@test "supersede: the outcome is not busy, in the result file, the metrics, the log and --notify" {
  hold a
  spawn old "$DLOCK" run --supersede waiting -E 7 --log-format json --result-file "$T/end.json" \
    --metrics-dir "$T" --notify 'echo "$DLOCK_EVENT $DLOCK_OUTCOME" >"$0.told"; cat >"$0.line"' a -- true
  eventually 10s stands a 1
  spawn newest "$DLOCK" run --supersede waiting a -- true
  ends 20s old "exit 7"
  let_go
  ends 20s newest "exit 0"
  assert_equal "$(json '[d["outcome"], d["exit_status"]]' <"$T/end.json")" '["superseded", 7]'
  grep -q '^dlock_runs_total{lock="a",outcome="superseded"} 1$' "$T/dlock_a.prom"
  grep -q '"event":"superseded"' "$T/old.err"
}

@test "supersede: the dead newest one has ended the others; one that comes anew is the newest" {
  hold a
  spawn old "$DLOCK" run --supersede waiting a -- touch "$MARKER"
  eventually 10s stands a 1
  spawn dies "$DLOCK" run --supersede waiting a -- touch "$MARKER"
  eventually 10s stands a 2
  kill -KILL "$dies_pid"
  ends 20s old "exit 75"
  spawn late "$DLOCK" run --supersede waiting a -- true
  let_go
  ends 30s late "exit 0"
  assert_not_started
}

@test "supersede: a run that was suspended while its turn passed makes way for the newer holder" {
  hold a
  spawn old "$DLOCK" run --supersede holder a -- touch "$MARKER"
  eventually 10s stands a 1
  kill -STOP "$old_pid"
  spawn newest "$DLOCK" run --supersede holder a -- sh -c 'touch "$0"; until [ -e "$1" ]; do sleep 0.1; done' \
    "$T/newest" "$T/end"
  eventually 10s stands a 2
  let_go
  eventually 20s test -e "$T/newest"
  kill -CONT "$old_pid"
  ends 20s old "exit 75"
  grep -q 'superseded by' "$T/old.err"
  touch "$T/end"
  ends 20s newest "exit 0"
  assert_not_started
}

@test "supersede: none, the default, switches off what a file or the environment sets" {
  local file
  file=$(mktemp -p "$T") && echo 'supersede = "holder"' >"$file"
  local -x DLOCK_CONFIG=$file
  local words
  for words in "-n a" "--or b a" "-s a" "--slots 2 a" "--url local://$T/locks a"; do
    # shellcheck disable=SC2086  # words
    run -64 "$DLOCK" run $words -- touch "$MARKER"
    assert_not_started
    # shellcheck disable=SC2086
    run -0 "$DLOCK" run --supersede none $words -- true
    # shellcheck disable=SC2086
    DLOCK_SUPERSEDE=none run -0 "$DLOCK" run $words -- true
  done
  run -64 --separate-stderr "$DLOCK" run -n a -- true
  assert_stderr_has "leave -n out, or say --supersede none"
  echo 'supersede = "none"' >"$file"
  run -0 "$DLOCK" run -n a -- true
  hold a
  spawn old env DLOCK_SUPERSEDE=waiting "$DLOCK" run a -- true
  eventually 10s stands a 1
  spawn later "$DLOCK" run a -- true
  eventually 10s stands a 2
  run -75 "$DLOCK" run -w 4s a -- true
  let_go
  ends 20s old "exit 0"
  ends 20s later "exit 0"
}

@test "supersede: wrong usage, and stores that cannot" {
  run -64 --separate-stderr "$DLOCK" run -n --supersede waiting a -- true
  assert_stderr_has "--supersede needs a run that waits"
  run -64 "$DLOCK" run -w 0 --supersede waiting a -- true
  run -64 "$DLOCK" run --supersede all a -- true
  run -64 "$DLOCK" acquire --supersede waiting a
  for mode in -s "--slots 2"; do
    # shellcheck disable=SC2086  # words
    run -64 --separate-stderr "$DLOCK" run $mode --supersede holder a -- true
    assert_stderr_has "for locks with one holder: not for ${mode%% *}"
    # shellcheck disable=SC2086
    run -0 "$DLOCK" run $mode --supersede waiting a -- true
  done
  local url
  for url in "local://$T/locks" zookeeper://127.0.0.1:1/locks \
    "redis://127.0.0.1:1 redis://127.0.0.1:2 redis://127.0.0.1:3"; do
    DLOCK_URL=$url run -64 --separate-stderr "$DLOCK" run --supersede waiting a -- true
    assert_stderr_has " does not support --supersede: a waiter there does not know which of the others came last"
  done
}
