#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the man pages are well-formed, and their figures and events are the program's.

load ../support/suite
suite docs

setup() { set_up_docs; }

@test "mandoc and groff find nothing wrong with the man pages" {
  for page in man/*.[1-8]; do
    run -0 mandoc -Tlint -W warning "$page"
    assert_output ""
    run -0 groff -man -ww -z "$page"
    assert_output ""
  done
}

@test "the man pages keep to the macros agreed on" {
  run -0 bash -c "grep -ohE '^\.[A-Za-z]+' man/*.[1-8] | sort -u |
    grep -vxE '\.(TH|SH|SS|PP|TP|B|I|BR|RB|BI|IB|RI|IR|EX|EE)' || true"
  assert_output ""
}

@test "the version is the same everywhere" {
  version=$(sed -nE 's/^project\(dlock VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
  [ -n "$version" ]
  for page in man/*.[1-8]; do
    run -0 grep -c "^\.TH .* \"dlock $version\"" "$page"
  done
  [ ! -e CHANGELOG.md ] || run -0 grep -F "$version" CHANGELOG.md
  run -0 "$DLOCK" --version
  assert_output --regexp "(^| )${version//./\\.}( |\$)"
}

@test "the lease in numbers is the lease that is computed" {
  # D, K and the moments of a lease of 30 s with 10 s of grace, as the rules on the page say.
  run -0 awk 'BEGIN {
    ttl = 30; grace = 10; d = ttl / 100 + 0.01; k = ttl / 100; if (k < 0.1) k = 0.1
    printf "%5.2f s %5.2f s %5.2f s %5.2f s", ttl / 3, ttl - d - k - grace, ttl - d - k, ttl - d
    printf " longest %.2fs", ttl - d - k - ttl / 3 - ttl / 10 }'
  expected=$output
  table=$(man_section LEASE dlock-guarantees.7 | sed -n '/request is sent/,/lease ends on/p' | sed '1d;$d')
  longest=$(man_section LEASE dlock-guarantees.7 | grep -A 2 'the longest' | grep -oE '[0-9.]+s')
  assert_equal "$(cut -c 1-7 <<<"$table" | xargs) longest ${longest%.}" "$(xargs <<<"$expected")"
}

@test "acquire prints the variables that the man page shows, in that order" {
  own_store
  expected=$(example "ACROSS STEPS" DLOCK_EXPIRES | sed 's/=.*//')
  run -0 "$DLOCK" acquire --ttl 15m deploy-production
  assert_equal "$(cut -d = -f 1 <<<"$output")" "$expected"
  run -0 "$DLOCK" acquire --slots 3 --ttl 15m reports
  assert_equal "$(cut -d = -f 1 <<<"$output" | grep -vx 'export DLOCK_SLOT')" "$expected"
  assert_line "export DLOCK_SLOT=0"
}

@test "what the man page has in place of other tools is taken by the program" {
  own_store
  example EXAMPLES "consul lock p" | sed -E 's/.*  +//; s/CMD$/true/; s/a \| b/true | true/' >lines
  run -0 wc -l <lines
  [ "$output" -ge 16 ]
  # The last two belong together: what is acquired there is released.
  tail -n 2 lines >steps.sh
  head -n -2 lines >runs.sh
  run -0 sh -e steps.sh
  assert_output ""
  while read -r line; do
    run -0 env DLOCK_URL="local://$PWD/${line//[^a-z]/}" sh -c "$line"
    assert_output ""
  done <runs.sh
}

@test "each use of the quick start is taken by the program" {
  own_store
  export HOME=$PWD
  example "QUICK START" "run order-42" | sed -nE 's/^[0-9*/ ]*(dlock .*)/\1/p' |
    sed -E 's/ -- .*/ -- echo ran/' >uses
  run -0 grep -c 'echo ran$' uses
  assert_output 6
  while read -r line; do
    run -0 sh -c "$line"
    case $line in *inspect*) assert_line --partial free ;; *) assert_output ran ;; esac
  done <uses
}

@test "the events of the program, and their levels, are the ones of the man page" {
  page=$(man_section "LOG EVENTS" dlock-json.7 | sed -n '/^waiting /,/^\.EE/p')
  rows=$(grep -oE '\{K::[a-z_]+, L::[a-z]+, "[a-z_]+"' cmd/notice_table.cpp |
    sed -E 's/.*L::([a-z]+), "(.*)"/\2 \1/' | sort -u)
  others=$(grep -ohE '\.name = "[a-z_]+"' cmd/voice.cpp src/store/redis/redis_store.cpp |
    grep -oE '"[a-z_]+"' | tr -d '"')
  # A line without a name of its own is a message.
  assert_equal "$(printf '%s\n' "${rows}" "$others" message | grep -oE '^[a-z_]+' | sort -u)" \
    "$(grep -oE '^[a-z_]+' <<<"$page" | sort -u)"
  while read -r event level; do
    grep -qE "^$event +$level( |\$)" <<<"$page" || fail "$event is not of the level $level in the page"
  done <<<"$rows"
}

@test "how long two may run after the store forgot is what the limits add up to" {
  # A renewal, its answer, and the grace after a verdict, with ttl 30 s and kill-after 10 s.
  run -0 awk 'BEGIN { ttl = 30; call = ttl / 10; if (call > 5) call = 5; print ttl / 3 + call + 1 }'
  man_section FAULTS dlock-guarantees.7 | grep -q "with the defaults $output s\." ||
    fail "not $output s in the man page"
  grep -q "two runs overlap for $output seconds at most" README.md || fail "not $output seconds in README.md"
}
