#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a warning of the compiler stops a gate, and no one else.
bats_require_minimum_version 1.5.0

setup() {
  bats_load_library bats-support
  bats_load_library bats-assert
  cd "$BATS_TEST_DIRNAME/.." || return 1
}

@test "warnings are errors in a gate, and not for who builds with a preset or with plain cmake" {
  echo 'push 9 printenv WERROR' >"$BATS_TEST_TMPDIR/budget"
  DLOCK_CI_BUDGET=$BATS_TEST_TMPDIR/budget DLOCK_CI_LOGS=$BATS_TEST_TMPDIR/logs run -0 .ci/run
  assert_line ON
  WERROR=ON run -0 cmake --preset lint -B "$BATS_TEST_TMPDIR/strict"
  run -0 grep -qE -- '-Werror( |$)' "$BATS_TEST_TMPDIR/strict/build.ninja"
  WERROR="" run -0 cmake --preset lint -B "$BATS_TEST_TMPDIR/strict"
  run -1 grep -qE -- '-Werror( |$)' "$BATS_TEST_TMPDIR/strict/build.ninja"
  # A folder that a developer has configured is configured again by the gate.
  eval "$(sed -n '/^configured() {/,/^}/p' dev)"
  cd "$BATS_TEST_TMPDIR" && mkdir -p build && mv strict build/lint
  WERROR="" configured lint
  WERROR=ON run -1 configured lint
}
