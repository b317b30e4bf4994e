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

# levels_on_page ID: the levels that the page gives to findings of this check: E, W, i.
levels_on_page() {
  man_section "THE CHECKS" "$page" | awk -v id="$1" '/^\.SS/ { wanted = 0 } /^\.TP/ { getline; wanted = $2 == id; next } wanted' |
    tr '\n' ' ' | grep -oE '(; |, | is |^)[EWi](\.| )' | grep -oE '[EWi]' | sort -u | xargs
}
@test "every finding about these stores has its level on the page, also what is worth knowing" {
  local id level
  own_store
  for url in "local://$PWD/locks" "sqlite://$PWD/new.db" "sqlite://$PWD/new.db?shared=no"; do
    run -0 dlock doctor --json --url "$url"
    while read -r id level; do
      [[ " $(levels_on_page "$id") " == *" $level "* ]] || fail "$id: no $level on the page, only $(levels_on_page "$id")"
    done < <(python3 -c 'import json, sys
for one in json.load(sys.stdin)["findings"]:
    if one["level"] in ("error", "warning", "info"):
        print(one["id"], {"error": "E", "warning": "W", "info": "i"}[one["level"]])' <<<"$output" | tee -a found)
  done
  [ "$(sort -u found | grep -c ' i$')" -ge 3 ]
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
