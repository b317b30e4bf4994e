#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the table of faults has every row, and no row is good without a test that says so.
bats_require_minimum_version 1.5.0

setup() {
  bats_load_library bats-support
  bats_load_library bats-assert
  # shellcheck source=tests/faults/table.bash
  . "$BATS_TEST_DIRNAME/table.bash"
  cd "$BATS_TEST_TMPDIR" || return 1
  mkdir -p tests/faults/rows results
  out=results fault_rows=(R03)
  rows 'R01|G|one|79|' 'R02|U|two|both run|' 'R03|X|three|64|pending M5: not there yet'
  export out
}

rows() { printf '%s\n' '# comment' "$@" >tests/faults/rows/R.txt; }
# table RESULT…: the table made of these lines of bats, and what counts as a failure of it.
table() {
  printf '%s\n' "$@" >results/suite.tap
  rm -f results/faults-table.*
  fault_table
  [ ! -e results/faults-table.failed ] || cat results/faults-table.failed
}
failures() { cut -d ' ' -f 2 results/faults-table.count; }

@test "each row has the verdict of its tests, and a row of class U fails as said" {
  run -0 table 'ok 1 R01 R02: gone' 'ok 2 nothing to do with it' 'ok 3 R02: more'
  assert_line --regexp '^R01 G +one +ok$'
  assert_line --regexp '^R02 U +two +fails as said$'
  assert_line --regexp '^R03 X +three +pending M5: not there yet$'
  assert_equal "$(failures)" 0
  run -0 table 'ok 1 R01 R02: gone' 'not ok 2 R01: gone again'
  assert_line --regexp '^R01 .*FAILED$'
  run -0 table 'ok 1 R01: gone' 'ok 2 R02: not here # skip no such kernel'
  assert_line --regexp '^R02 .*skipped$'
}

@test "a row without test and reason, or with both, is a failure" {
  run -0 table 'ok 1 R01: gone'
  assert_line 'the table: R02: no test and no reason'
  assert_equal "$(failures)" 1
  run -0 table 'ok 1 R01 R02 R03: gone'
  assert_line --partial 'R03: has a test and says "pending M5'
  assert_equal "$(failures)" 1
}

@test "a row whose only test is for the nightly is neither good nor a failure" {
  mkdir -p tests/cli
  printf '%s\n' '# bats test_tags=nightly' '@test "R02: long" {' >tests/cli/a.bats
  tags='!nightly' run -0 table 'ok 1 R01: gone'
  assert_line --regexp '^R02 .*nightly$'
  assert_equal "$(failures)" 0
  tags='' run -0 table 'ok 1 R01: gone'
  assert_line 'the table: R02: no test and no reason'
}

@test "a tag without a row, a row that is missing, double or broken is a failure" {
  run -0 table 'ok 1 R01 R02 R07: gone'
  assert_line 'the table: R07: a test names it, but there is no such row'
  rows 'R01|G|one|79|' 'R01|G|one|79|' 'R03|U|no note'
  run -0 table 'ok 1 R01 R03: gone'
  assert_line 'the table: R01: stands twice in the rows'
  assert_line 'the table: R02: has no row'
  assert_line 'the table: R03: a row has five fields'
}

@test "tests are found by the ids in front of their names, in bats and doctest" {
  mkdir -p tests/cli tests/unit
  printf '%s\n' '@test "R01 R02: a \"b\"" {' '@test "run: R01" {' >tests/cli/a.bats
  printf '%s\n' 'TEST_CASE("R03: c") {' 'TEST_CASE("R1: no") {' >tests/unit/a_test.cpp
  assert_equal "$(fault_tests)" \
    $'tests/cli/a.bats|R01 R02: a "b"\ntests/unit/a_test.cpp|R03: c'
  assert_equal "$(fault_suites | xargs)" "cli/a unit"
}

@test "every row of the project has a test or a reason" {
  cd "$BATS_TEST_DIRNAME/../.." || return 1
  out=$BATS_TEST_TMPDIR/results
  # shellcheck disable=SC2030
  eval "$(grep '^fault_rows=' tests/faults/table.bash)" # setup() has another
  fault_tests | sed 's/.*|/ok 1 /' >"$out/suite.tap"
  run -0 fault_table
  assert_equal "$(cat "$out/faults-table.failed" 2>/dev/null)" ""
}
