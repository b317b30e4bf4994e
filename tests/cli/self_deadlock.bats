#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a nested run that would wait for the run above it says so and ends with 75 at once; one
# that only looks like it waits as everybody does.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells
load ../support/suite
suite server empty modes

# under OUTER INNER: what `run INNER a` under a `run OUTER a` says; "plain" is no option.
under() {
  # shellcheck disable=SC2086  # words on purpose
  run --separate-stderr timeout 20 "$DLOCK" run ${1/plain/} a -- \
    timeout 15 "$DLOCK" run ${2/plain/} a -- sh -c 'echo "entered $DLOCK_MODE"'
}
# stuck OUTER INNER SENTENCE: without -n or -w it ends with 75, and says one line.
stuck() {
  under "$1" "$2"
  [ "$status" = 75 ] || fail "$2 under $1 ended with $status: $output $stderr"
  assert_one_line
  assert_stderr_has "$3"
  refute_output --partial entered
}
# joins OUTER INNER MODE
joins() {
  under "$1" "$2"
  [ "$status" = 0 ] || fail "$2 under $1 ended with $status: $stderr"
  assert_output "entered $3"
  assert_no_stderr
}

all_that_wait_for_themselves() {
  stuck -s -x '"a" is held shared by an ancestor of this run: an exclusive claim would deadlock'
  stuck -s plain '"a" is held shared by an ancestor of this run: a plain claim would deadlock'
  stuck -s '--slots 3' '"a" is held shared by an ancestor of this run'
  stuck '--slots 3' plain '"a" is held as one of 3 slots by an ancestor of this run: a plain claim would deadlock'
  stuck '--slots 3' -x '"a" is held as one of 3 slots by an ancestor of this run: an exclusive claim would deadlock'
  stuck '--slots 3' -s '"a" is held as one of 3 slots by an ancestor of this run'
  stuck plain '--slots 3' '"a" is held'
  stuck -x '--slots 3' '"a" is held'
}
@test "a nested claim that would deadlock says so at once, and ends with 75" {
  all_that_wait_for_themselves
  assert_no_keys
}
@test "a nested claim that would deadlock says so at once, and ends with 75, in a directory" {
  in_a_directory
  all_that_wait_for_themselves
}

all_that_join() {
  joins plain plain plain
  joins plain -x plain
  joins plain -s plain
  joins -x -x exclusive
  joins -x plain exclusive
  joins -x -s shared
  joins -s -s shared
  joins '--slots 3' '--slots 3' slots
}
@test "a claim that has room under the run above joins that run" {
  all_that_join
  assert_no_keys
}
@test "a claim that has room under the run above joins that run, in a directory" {
  in_a_directory
  all_that_join
}

@test "-E changes the exit status of a self-deadlock" {
  run -9 timeout 20 "$DLOCK" run -s a -- "$DLOCK" run -E 9 -x a -- touch "$MARKER"
  run -75 timeout 20 "$DLOCK" run -s a -- "$DLOCK" run -w 15 -x a -- touch "$MARKER"
  assert_not_started
}

@test "a self-deadlock is found through another name's run in between, and among several names" {
  run -75 --separate-stderr timeout 20 "$DLOCK" run -s a -- "$DLOCK" run b -- "$DLOCK" run a -- touch "$MARKER"
  assert_stderr_has '"a" is held shared by an ancestor of this run'
  run -75 --separate-stderr timeout 20 "$DLOCK" run -s a -- "$DLOCK" run --and a b -- touch "$MARKER"
  assert_stderr_has '"a" is held shared by an ancestor of this run'
  assert_not_started
  assert_no_keys # b as well: it left the line, if it ever stood there
}

@test "names in another order are no deadlock for a run that holds them already" {
  run -0 timeout 20 "$DLOCK" run a -- "$DLOCK" run b -- "$DLOCK" run a -- "$DLOCK" run --and a b -- true
  assert_no_keys
}

@test "another reader in the way as well: the run would wait for itself all the same" {
  enter other -s a
  stuck -s -x 'by an ancestor of this run'
  go other
}

@test "a stranger in the way is waited for: no self-deadlock is claimed where there is none" {
  enter other -s a
  run -75 --separate-stderr "$DLOCK" run b -- "$DLOCK" run -w 300ms -x a -- touch "$MARKER"
  assert_stderr_has "pid $other_pid"
  refute_stderr_has 'above'
  # Under a hold that has ended meanwhile, too.
  "$DLOCK" run -s a -- sh -c 'echo "$DLOCK_HOLDS"' >"$T/holds"
  run -75 --separate-stderr env DLOCK_HOLDS="$(cat "$T/holds")" "$DLOCK" run -w 300ms -x a -- touch "$MARKER"
  refute_stderr_has 'above'
  go other
  run -0 env DLOCK_HOLDS="$(cat "$T/holds")" "$DLOCK" run -n -x a -- true
  assert_not_started
}

@test "a waiter below its holder that has lost DLOCK_HOLDS is told so, once" {
  local lost=(env -u DLOCK_HOLDS "$DLOCK" run -w 4 a -- touch "$MARKER")
  run -75 --separate-stderr "$DLOCK" run a -- sh -c 'echo "$PPID"; "$@"; exit $?' sh "${lost[@]}"
  assert_stderr_has "\"a\": process $output, which this one descends from, is the holder"
  [ "$(grep -c 'which this one descends from' <<<"$stderr")" = 1 ]
  run -75 --separate-stderr "$DLOCK" run a -- "${lost[@]:0:4}" --log-format json "${lost[@]:4}"
  assert_stderr_has '"event":"holder_above"'
  enter other a
  run -75 --separate-stderr "${lost[@]:0:6}" 1500ms a -- true
  refute_stderr_has 'descends'
  go other
  assert_not_started
}

@test "another number of slots than the run above has is an error, not a wait" {
  stuck '--slots 3' '--slots 4' '"a" is held as one of 3 slots by an ancestor of this run: a claim with another number of slots would deadlock'
}
