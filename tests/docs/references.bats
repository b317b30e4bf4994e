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

# named_pages FILE…: the manual pages of dlock that the files name, as "dlock-stores 7".
named_pages() {
  sed -E 's/\\-/-/g; s/\\f.//g' "$@" | grep -oE '\bdlock[a-z.-]* ?\([1-8]\)' | sed -E 's/ ?\((.)\)/ \1/' | sort -u
}
# named_sections FILE…: the sections that the files name, as "LEASE in dlock-guarantees 7".
named_sections() {
  sed -E '/^\.[A-Z]+$/d; s/^\.[A-Z]+ //; s/\\-/-/g; s/\\f.//g; s/[`*]//g; s,^ *(//|#) ?,,' "$@" | tr -s '\n ' ' ' |
    grep -oE '("[^"]{3,40}"|\b[A-Z][A-Z -]*[A-Z]) (in|of) dlock[a-z.-]* ?\([1-8]\)' |
    sed -E 's/"//g; s/ (in|of) (dlock[a-z.-]*) ?\((.)\)/ in \2 \3/' | sort -u
}
# lost_pages FILE…: what the files name and is not there.
lost_pages() {
  local section page number
  while read -r page number; do
    [ -e "man/$page.$number" ] || echo "no page $page($number)"
  done < <(named_pages "$@")
  while read -r section; do
    page=${section##* in } section=${section% in *}
    sed 's/\\-/-/g; s/"//g' "man/${page/ /.}" 2>/dev/null | grep -qixE "\.S[HS] $section" ||
      echo "no section $section in ${page/ /.}"
  done < <(named_sections "$@")
}

@test "the manual pages and their sections that texts and sources refer to are there" {
  mapfile -t files < <(ls man/*.[1-8] ./*.md packaging/*.md packaging/*.sh packaging/examples/*
    find src cmd tests \( -name '*.[ch]pp' -o -name '*.lua' -o -name '*.bats' -o -name '*.bash' \) ! -path tests/docs/references.bats)
  [ "$(named_sections "${files[@]}" | wc -l)" -gt 20 ]
  run -0 lost_pages "${files[@]}"
  assert_output ""
  printf '%s\n' '.SH NO SUCH' 'See NO SUCH in' '.BR dlock\-stores (7),' '"The waiting line" in dlock-guarantees(7),' \
    'and dlock-nothing(7).' >"$BATS_TEST_TMPDIR/page"
  run -0 lost_pages "$BATS_TEST_TMPDIR/page"
  assert_output "no page dlock-nothing(7)
no section NO SUCH in dlock-stores.7"
}

# known_codes: the rows of the tables of faults and of security.
known_codes() { grep -hoE '^[A-Z][0-9]{2}\|' tests/faults/rows/*.txt tests/security.txt | tr -d '|'; }

# lost_references TREE TESTS: the names of documents and the codes in the sources of src and cmd in
# TREE, and in the names of tests in the file TESTS, that name nothing: "src/a.cpp: faults.md".
lost_references() {
  local file word
  { (cd "$1" && grep -rHoE --include='*.[chl][pu][pa]' '[[:alnum:]_./-]+\.md\b|\b[A-Z][0-9]{2}\b' src cmd)
    grep -noE '[[:alnum:]_./-]+\.md\b|\b[A-Z][0-9]{2}\b' "$2" | sed 's/^/test /'; } |
    sort -u | grep -vE ":($(known_codes | paste -sd '|'))\$" |
    while IFS= read -r file; do
      word=${file##*:}
      [ -e "$word" ] || echo "$file"
    done
}

@test "documents and codes that sources and the names of tests refer to are there" {
  # shellcheck source=tests/support/names.bash
  . tests/support/names.bash
  every_test tests | cut -d '|' -f 2- >"$BATS_TEST_TMPDIR/tests"
  run -0 lost_references . "$BATS_TEST_TMPDIR/tests"
  assert_output ""
  mkdir -p "$BATS_TEST_TMPDIR"/tree/{src,cmd}
  echo '// The deadline (faults.md 2.3-7, ARCHITECTURE.md, P01).' >"$BATS_TEST_TMPDIR/tree/src/a.hpp"
  echo '-- A row of X07, S01, SHA256 and 0X99.' >"$BATS_TEST_TMPDIR/tree/cmd/a.lua"
  printf '%s\n' 'P01 N08: both are rows' 'X30: is no row (X31)' >"$BATS_TEST_TMPDIR/tests"
  run -0 lost_references "$BATS_TEST_TMPDIR/tree" "$BATS_TEST_TMPDIR/tests"
  assert_output "cmd/a.lua:X07
src/a.hpp:faults.md
test 2:X30
test 2:X31"
}

# numbers FILE: of the rules that are written there, as "1. " or "1 place".
numbers() { grep -oE '^[0-9]+' "$1" | sort -nu | xargs; }

# wrong_places FILE: the places that are not there.
wrong_places() {
  local number word file
  while read -r number _ word _ file; do
    grep -qE "(^|[^[:alnum:]_])$word([^[:alnum:]_]|\$)" "$file" 2>/dev/null ||
      echo "$number: no $word in $file"
  done < <(grep -E '^[0-9]+ place ' "$1")
}
# wrong_tests FILE: the tests that are not there.
wrong_tests() {
  local number name tests
  tests=$(all_tests)
  while read -r number _ name; do
    grep -qxF -- "$name" <<<"$tests" || echo "$number: no such test: $name"
  done < <(grep -E '^[0-9]+ test ' "$1")
}
# suites_of_push BUDGET: what the steps of a push test with the dev build: cli, cli/signals, tidy.
suites_of_push() {
  sed -nE 's#^push [0-9]+ \./dev test( |$)##p' "$1" | grep -vE '^mutants( |$)' |
    while read -r suites; do
      [ -n "$suites" ] || suites=$(sed -nE 's/.* all="([a-z ]+)"$/\1/p' dev)
      xargs -n 1 <<<"$suites"
    done
}
# nightly_tests: those that no push runs, as "cli/signals: NAME".
nightly_tests() {
  grep -rHA1 --include='*.bats' '^# bats test_tags=nightly$' tests |
    sed -nE 's#^tests/(.*)\.bats-@test "(.*)" \{.*#\1: \2#p'
}
# outside_push RULES BUDGET: the rules without a test in the push gate.
outside_push() {
  local number name suite found suites nightly
  suites=$(suites_of_push "$2")
  nightly=$(nightly_tests)
  for number in $(numbers "$1"); do
    found=""
    while read -r _ _ name; do
      suite=${name%%: *}
      ! grep -qxF -- "$name" <<<"$nightly" || continue
      ! grep -qxE -- "${suite%%/*}|$suite" <<<"$suites" || found=yes
    done < <(grep -E "^$number test " "$1")
    [ -n "$found" ] || echo "$number: no test in the push gate"
  done
}

@test "every rule of ARCHITECTURE.md has places and tests in tests/rules.txt, and they exist" {
  sed -n '/^## The rules/,/^## D/p' ARCHITECTURE.md | grep -E '^[0-9]+\. ' >"$BATS_TEST_TMPDIR/rules"
  for what in place test; do
    grep -E "^[0-9]+ $what " tests/rules.txt >"$BATS_TEST_TMPDIR/$what"
    assert_equal "$what: $(numbers "$BATS_TEST_TMPDIR/$what")" "$what: $(numbers "$BATS_TEST_TMPDIR/rules")"
  done
  run -1 grep -vE '^(#|[0-9]+ place [A-Za-z_:]+ in [a-z_/.]+|[0-9]+ test [a-z_/]+: .+)' tests/rules.txt
  run -0 wrong_places tests/rules.txt
  assert_output ""
  run -0 wrong_tests tests/rules.txt
  assert_output ""
  echo '1 place no_such_word in src/core/lease.hpp' >"$BATS_TEST_TMPDIR/bad"
  echo '1 test cli/signals: no such test' >>"$BATS_TEST_TMPDIR/bad"
  run -0 wrong_places "$BATS_TEST_TMPDIR/bad"
  refute_output ""
  run -0 wrong_tests "$BATS_TEST_TMPDIR/bad"
  refute_output ""
}

@test "every rule of ARCHITECTURE.md has a test in the push gate" {
  run -0 outside_push tests/rules.txt .ci/budget
  assert_output ""
  # A push without unit tests, and one that tests nothing, leave rules without a test.
  printf '%s\n' 'push 9 ./dev test cli/lease_loss tidy' 'nightly 9 ./dev test' >"$BATS_TEST_TMPDIR/budget"
  run -0 outside_push tests/rules.txt "$BATS_TEST_TMPDIR/budget"
  assert_output --partial '3: no test'
  refute_output --partial '5: no test'
  echo 'push 9 ./dev test mutants --fits' >"$BATS_TEST_TMPDIR/budget"
  run -0 outside_push tests/rules.txt "$BATS_TEST_TMPDIR/budget"
  assert_equal "${#lines[@]}" 11
  # Nor does a test that only the night runs count.
  run -0 grep -c . < <(nightly_tests)
  assert_equal "$output" "$(grep -rh --include='*.bats' '^# bats test_tags=nightly$' tests | wc -l)"
  nightly_tests | sed -n '1s/^/1 test /p' >"$BATS_TEST_TMPDIR/rules"
  run -0 outside_push "$BATS_TEST_TMPDIR/rules" .ci/budget
  assert_output "1: no test in the push gate"
}

too_long() { # FILE
  [ "$(wc -l <"$1")" -le 200 ] || echo "$1: more than 200 lines"
  LC_ALL=C.UTF-8 grep -nE '^.{101}' "$1" || true
}
@test "ARCHITECTURE.md has at most 200 lines of at most 100 columns" {
  run -0 too_long ARCHITECTURE.md
  assert_output ""
  seq 201 >"$BATS_TEST_TMPDIR/page"
  run -0 too_long "$BATS_TEST_TMPDIR/page"
  refute_output ""
  printf 'x%.0s' {1..101} >"$BATS_TEST_TMPDIR/page"
  run -0 too_long "$BATS_TEST_TMPDIR/page"
  refute_output ""
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
