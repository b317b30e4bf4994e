#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: what the documents say of code, tests and faults is there.

load ../support/suite
suite docs

setup() { set_up_docs; }

@test "dlock-faults(7) says what the table of faults and the names of the tests say" {
  packaging/faults-page.sh >"$BATS_TEST_TMPDIR/page"
  run -0 diff man/dlock-faults.7 "$BATS_TEST_TMPDIR/page" # not current? ./packaging/faults-page.sh >man/dlock-faults.7
  run -0 grep -cE '^\.BR [A-Z][0-9]{2} ' man/dlock-faults.7
  assert_output "$(cat tests/faults/rows/*.txt | grep -cv '^#')"
}

@test "what README.md, CONTRIBUTING.md and ARCHITECTURE.md link to is there" {
  run -0 bash -c "grep -ohE '\]\([^)#:]+\)' README.md CONTRIBUTING.md ARCHITECTURE.md | tr -d ']()' | sort -u | xargs ls -d"
}

rules() { sed -n '/^## The rules/,/^## /p' ARCHITECTURE.md; }

@test "the rules of ARCHITECTURE.md name places in the code that are there" {
  assert_equal "$(rules | grep -cE '^[0-9]+\. ')" 11
  assert_equal "$(rules | grep -c '^   - place: ')" 11
  # shellcheck disable=SC2016  # backquotes of Markdown
  places=$(rules | tr -d '\n' | grep -oE '`[A-Za-z_:]+` in +src/[a-z_/.]+[a-z]' | tr -s '` ' ' ')
  assert_equal "$(wc -l <<<"$places")" "$(rules | grep -o 'src/' | wc -l)"
  while read -r word _ file; do
    grep -qE "(^|[^[:alnum:]_])$word([^[:alnum:]_]|\$)" "$file" || fail "no $word in $file"
  done <<<"$places"
}

@test "the rules of ARCHITECTURE.md name tests that are there, at least one each" {
  while read -r line; do
    grep -qxF -- "${line#- test: }" <(all_tests) || fail "no such test: $line"
  done < <(rules | grep -E '^   - test: ')
  assert_equal "$(rules | awk '/^[0-9]+\. / { n++ } /- test:/ { has[n] = 1 } END { print length(has) }')" 11
}

# wrong_rows FILE: what is no row, or names a test that does not exist.
wrong_rows() {
  local ids target tests
  tests=$(all_tests)
  while IFS='|' read -r ids target; do
    ids=$(xargs <<<"$ids") target=${target# }
    [[ -n $ids && -n $target ]] || echo "no row: $ids|$target"
    [[ $target =~ ^not:\ .{4} ]] || grep -qxF -- "$target" <<<"$tests" ||
      echo "$ids: no such test: $target"
  done < <(grep -vE '^(#|$)' "$1")
}

@test "what users of Redisson have reported is a test here, or has a reason why not" {
  run -0 wrong_rows tests/interop/rows.txt
  assert_output ""
  run -0 grep -cE '\| interop/' tests/interop/rows.txt
  local edit
  for edit in 's,\| interop/wake: .*,| interop/wake: no such test,' 's,\| not: .*,| not: ,' 's,\|.*,,'; do
    sed -E "$edit" tests/interop/rows.txt | grep -E "wake|slots|^5[0-9]{3}" >"$BATS_TEST_TMPDIR/rows"
    run -0 wrong_rows "$BATS_TEST_TMPDIR/rows"
    refute_output ""
  done
}

# Each suite says for which clients it is, and these are the ones that ./dev interop knows.
@test "every suite of interop has its clients, and a reason for the rest" {
  . tests/interop/run.bash
  for suite in tests/interop/*.bats; do
    run -0 header "$suite" clients
    for client in $output; do [[ " $(clients) " == *" $client "* ]]; done
    [ "$output" = "$(clients)" ] || [ -n "$(header "$suite" others)" ]
  done
}
