# SPDX-License-Identifier: MIT
# --supersede on any store. A part of suite.bash, to be named after cli, supervise and line.
# shellcheck shell=bash disable=SC2016,SC2154

# supersedes: checks that of the runs that say so only the newest goes on.
supersedes() {
  hold a
  spawn old "$DLOCK" run --supersede waiting a -- touch "$MARKER"
  eventually 10s stands a 1
  spawn other "$DLOCK" run a -- sh -c 'echo other >>"$0"' "$T/ran"
  eventually 10s stands a 2
  spawn newest "$DLOCK" run --supersede waiting a -- sh -c 'echo newest >>"$0"' "$T/ran"
  ends 20s old "exit 75"
  grep -Eq "^dlock: \"a\": superseded by $(id -un)@.* pid $newest_pid, which came later$" "$T/old.err"
  let_go
  ends 20s other "exit 0"
  ends 20s newest "exit 0"
  assert_equal "$(cat "$T/ran")" $'other\nnewest'
  assert_not_started
}

# supersedes_the_holder: checks that the newest run revokes a holder that said so, and no other.
supersedes_the_holder() {
  local status=0
  hold b --supersede waiting
  spawn waits "$DLOCK" run --supersede holder b -- true
  eventually 10s stands b 1
  run -0 "$DLOCK" inspect b
  refute_output --partial revoked
  let_go
  ends 20s waits "exit 0"

  hold c --supersede holder
  spawn wins "$DLOCK" run --supersede holder c -- touch "$T/won"
  wait "$HOLDER" || status=$?
  [ "$status" = 79 ]
  grep -q "was revoked by $(id -un)@.* (--supersede); stopping the command" "$BATS_TEST_TMPDIR/holder.err"
  ends 20s wins "exit 0"
  [ -e "$T/won" ]
}
