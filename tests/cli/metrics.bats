#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: --metrics-dir counts each run once, readers see whole files only, and a failure to write
# changes nothing else.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server empty cli supervise

setup() {
  set_up
  export DLOCK_METRICS_DIR=$T/metrics
  mkdir "$DLOCK_METRICS_DIR"
}

# value FILE SERIES: the value of a series, read as Prometheus reads it. The Python of Debian has the
# library.
value() {
  /usr/bin/python3 - "$DLOCK_METRICS_DIR/$1" "$2" <<'END'
import sys
from prometheus_client.parser import text_string_to_metric_families
for family in text_string_to_metric_families(open(sys.argv[1], encoding="utf-8").read()):
    for sample in family.samples:
        labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))
        if f"{sample.name}{{{labels}}}" == sys.argv[2]:
            print(f"{sample.value:g}")
END
}
runs() { value "dlock_$1.prom" "dlock_runs_total{lock=$1,outcome=$2}"; }

@test "each outcome is counted, and the last run is that which ran" {
  run -0 "$DLOCK" run a -- true
  run -3 "$DLOCK" run a -- sh -c 'exit 3'
  hold a
  run -75 "$DLOCK" run -n a -- true
  let_go
  run -0 "$DLOCK" run --once-per 1h a -- true
  run -0 "$DLOCK" run --once-per 1h a -- true
  run -124 "$DLOCK" run --max-hold 100ms a -- sleep 60
  run -127 "$DLOCK" run a -- /nowhere/at-all
  # hold ran without a signal of its own: it counts as one more.
  [ "$(runs a child)" = 4 ]
  [ "$(runs a busy)" = 1 ]
  [ "$(runs a "done")" = 1 ]
  [ "$(runs a time_up)" = 1 ]
  [ "$(runs a failed)" = 1 ]
  [ "$(value dlock_a.prom 'dlock_last_exit_status{lock=a}')" = 124 ]
  [ "$(stat -c '%a' "$DLOCK_METRICS_DIR/dlock_a.prom")" = 644 ]
  [ "$(ls -A "$DLOCK_METRICS_DIR")" = dlock_a.prom ]
}

@test "the file is for all to read, whatever the umask is; a name is escaped" {
  (umask 077 && "$DLOCK" run "a/b c%" -- true)
  [ "$(stat -c '%a %n' "$DLOCK_METRICS_DIR"/*)" = "644 $DLOCK_METRICS_DIR/dlock_a%2fb%20c%25.prom" ]
  [ "$(value dlock_a%2fb%20c%25.prom 'dlock_runs_total{lock=a/b c%,outcome=child}')" = 1 ]
}

@test "of several names each counts the run; a nested run counts for none" {
  run -0 "$DLOCK" run --and b a -- "$DLOCK" run a -- true
  [ "$(runs a child) $(runs b child)" = "1 1" ]
  run -0 "$DLOCK" run a -- "$DLOCK" run --and a c -- true
  [ "$(runs a child) $(runs c child)" = "2 1" ]
}

@test "below acquire a run counts, and one below that does not" {
  eval "$("$DLOCK" acquire a)"
  run -0 "$DLOCK" run a -- "$DLOCK" run a -- true
  [ "$(runs a child)" = 1 ]
  "$DLOCK" release a
  run -0 "$DLOCK" run a -- true
  [ "$(runs a child)" = 2 ]
}

@test "a file that cannot be written keeps no other from its count" {
  mkdir "$DLOCK_METRICS_DIR/dlock_c.prom"
  run -0 --separate-stderr "$DLOCK" run --and c --and b a -- true
  assert_stderr_has "is a directory"
  [ "$(runs a child) $(runs b child)" = "1 1" ]
}

@test "long names that begin alike are counted, each in a file of its own" {
  name=$(printf 'n%.0s' {1..300})
  run -0 --separate-stderr "$DLOCK" run "$name" -- true
  [ -z "$stderr" ] || fail "$stderr"
  run -0 "$DLOCK" run "$name" -- true
  run -0 "$DLOCK" run "${name}n" -- true
  run -0 bash -c 'grep -h "outcome=.child" "$DLOCK_METRICS_DIR"/dlock_nnn*~*.prom | cut -d " " -f 2 | sort | xargs'
  [ "$output" = "1 2" ] || fail "$output"
}

@test "two hundred runs at once: the counters add up to 200" {
  for _ in {1..200}; do "$DLOCK" run -n -E 7 a -- true & done 3>&- 2>"$T/err"
  wait
  run -0 awk '/^dlock_runs_total/ { sum += $2 } END { print sum }' "$DLOCK_METRICS_DIR/dlock_a.prom"
  [ "$output" = 200 ] || fail "$output: $(grep metrics "$T/err" | sort | uniq -c)"
}

@test "who reads meanwhile sees a whole file each time" {
  "$DLOCK" run a -- true
  (for _ in {1..50}; do "$DLOCK" run a -- true; done; touch "$T/over") 3>&- &
  until [ -e "$T/over" ]; do
    [ "$(tail -c 1 "$DLOCK_METRICS_DIR/dlock_a.prom" | wc -l)" = 1 ]
    [ "$(grep -c '^dlock_' "$DLOCK_METRICS_DIR/dlock_a.prom")" = 15 ]
  done
  [ "$(runs a child)" = 51 ]
}

@test "a directory that cannot be written costs a warning, and no exit status" {
  export DLOCK_METRICS_DIR=$T/nowhere
  run -5 --separate-stderr "$DLOCK" run a -- sh -c 'exit 5'
  assert_stderr_has "cannot write the metrics in $T/nowhere: no such file or directory"
  touch "$T/file"
  run -0 --separate-stderr "$DLOCK" run --metrics-dir "$T/file" a -- true
  assert_stderr_has "not a directory"
  run -64 "$DLOCK" run --metrics-dir "" a -- touch "$T/ran"
  [ ! -e "$T/ran" ]
}

@test "a link in place of the file is replaced, not followed" {
  echo mine >"$T/victim"
  ln -s "$T/victim" "$DLOCK_METRICS_DIR/dlock_a.prom"
  run -0 "$DLOCK" run a -- true
  [ "$(cat "$T/victim")" = mine ]
  [ "$(runs a child)" = 1 ]
}

@test "another process that keeps the directory locked delays the end for some seconds, and no more" {
  spawn locker flock "$DLOCK_METRICS_DIR" sleep 60
  eventually 10s sh -c '! flock -n "$0" true' "$DLOCK_METRICS_DIR"
  run -0 --separate-stderr timeout 30 "$DLOCK" run a -- true
  assert_stderr_has "cannot write the metrics in"
  [ "$(ls -A "$DLOCK_METRICS_DIR")" = "" ]
}
