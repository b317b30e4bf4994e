#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock-doctor(7) has every check of the program, and its examples work.
# shellcheck disable=SC2154  # set by set_up_docs

load ../support/suite
suite docs

setup() {
  set_up_docs
  page=dlock-doctor.7
}

# ids_in_code: the first words of findings.add, of the rules for Redis and of those of files.
ids_in_code() {
  {
    cat src/store/*/examine_*.cpp src/store/quorum/judge_quorum.cpp src/store/open_store.cpp src/store/local/*.cpp \
      src/store/redis/doctor/*.cpp | tr -s ' \n' ' ' |
      grep -oE '(findings|silent|judgement)\.add\( ?"[a-z_]+"|\badd\("[a-z_]+", (judge|examine)|\{"[a-z_]+", (judge|look)_'
    grep -rhoE '\.id = .*"[a-z_]+"' src/store
  } | grep -oE '"[a-z_]+"' | tr -d '"' | sort -u
}
@test "every check of the program is on the page, and the other way round" {
  known=$(man_section "THE CHECKS" "$page" | awk '/^\.TP/ { getline; print $2 }' | sort)
  assert_equal "$(uniq <<<"$known")" "$known"
  assert_equal "$known" "$(ids_in_code)"
}

@test "the identity of two hosts is the word that the line of the page prints" {
  own_store
  run -0 dlock run first -- true
  line=$(example EXAMPLES identity "$page" | grep '^dlock doctor |')
  run -0 sh -c "$line"
  assert_output --regexp '^[0-9a-f]{12}$'
  assert_equal "$(dlock doctor --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["identity"]["digest"])')" "$output"
}

@test "the line of the page for a deployment stops it where the promise is broken" {
  own_store
  line=$(example EXAMPLES identity "$page" | grep '^dlock doctor --ttl')
  run -0 sh -c "$line; echo deployed"
  assert_line deployed
  mkdir -m 777 open
  run -1 env DLOCK_URL="local://$PWD/open" sh -c "$line; echo deployed"
  refute_line deployed
  assert_line --regexp '^E directory'
}
