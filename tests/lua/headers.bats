#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the program sends the scripts as they are here, and no answer that the header of one names
# is without a test of that name.
load ../support/suite
suite server lua

@test "the program sends each script with the SHA1 that the server computes" {
  generated=$(dirname "$DLOCK")/src/store/scripts.gen.hpp
  [ -e "$generated" ] || skip "no build in ${generated%/src/*}"
  for file in "$SCRIPTS"/*.lua; do
    name=$(basename "$file" .lua)
    sha1=$(script_text "$name" | r -x SCRIPT LOAD)
    assert_regex "$(grep -E "Script (k_)?$name\{" "$generated")" "\"$sha1\""
  done
}

# missing_answers HEADERS_FOLDER TESTS…: "script answer" for each one that no test is named after.
missing_answers() {
  local file name answer
  for file in "$1"/*.lua; do
    name=$(basename "$file" .lua)
    sed -nE "s/^-- (Returns +)?( +)?(\{+'?([a-z_]+)'?[^}]*\}|'([a-z_]+)').*/\4\5/p" "$file" | while read -r answer; do
      grep -hE "^@test \"$name " "${@:2}" | grep -qE "['{]${answer}['}]" || echo "$name $answer"
    done
  done
}

@test "every answer that a header names has a test" {
  run -0 missing_answers "$SCRIPTS" "$BATS_TEST_DIRNAME"/*.bats
  assert_output ""
  # The check can fail.
  mkdir "$BATS_TEST_TMPDIR/s"
  printf -- "-- x: y\n-- Returns {'renewed'}\n--         {'vanished', by}   z\n" \
    >"$BATS_TEST_TMPDIR/s/renew.lua"
  run -0 missing_answers "$BATS_TEST_TMPDIR/s" "$BATS_TEST_DIRNAME"/*.bats
  assert_output "renew vanished"
  # And it sees all there is to see.
  run -0 missing_answers "$SCRIPTS" /dev/null
  assert_equal "${#lines[@]}" 30
}
