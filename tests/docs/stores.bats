#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock-stores(7) has the tables that dlock makes.

load ../support/suite
suite docs

setup() { set_up_docs; }

@test "the tables of the stores page are those that doctor --ddl prints" {
  local url page
  page=$(sed 's/\\-/-/g' "$PROJECT/man/dlock-stores.7" | xargs -d '\n' | tr -s ' ')
  for url in postgresql://h/d mysql://h/d; do
    run -0 "$DLOCK" doctor --ddl --url "$url"
    mapfile -t tables < <(printf '%s\n' "${lines[@]}" | grep -v '^-- grant ')
    [ "${#tables[@]}" = 2 ]
    for line in "${tables[@]}"; do [[ $page == *"$line"* ]] || fail "not in the page: $line"; done
    for line in "${lines[@]}"; do
      [[ $line != "-- "* ]] || [[ ${page,,} == *"$(sed 's/^-- //; s/ to .*//' <<<"$line") to "* ]] || fail "not in the page: $line"
    done
  done
}
