# SPDX-License-Identifier: MIT
# Sourced by tests/run.bash: the table of faults, `./dev test faults`. A row of the table is a line
# in tests/faults/rows/LETTER.txt: ID|class|fault|what happens|note. Its evidence is any test, of any
# suite, whose name starts with the ids of the rows it shows: "R09 R10: the key is deleted …".
# A row without a test has one of these notes, and every other note is only shown behind the verdict:
#     pending M5: why         it waits for that milestone
#     not run: why            nobody will run it here
# Classes: G guaranteed, B bounded, U not promised, L liveness only, X command line and supervision.
# A row of class U is an expected failure: its test asserts that what the text says does happen.
# shellcheck shell=bash disable=SC2154,SC2034  # out is set by the caller, fault_cases read by it

# shellcheck source=tests/support/names.bash
. "$(dirname "${BASH_SOURCE[0]}")/../support/names.bash"

# How many rows each letter has: none may be forgotten.
fault_rows=(R38 C10 N18 P42 J08 K27 F09 Q06 O13)
# The names of tests that are evidence, as bats and as doctest want to hear it.
fault_tag='^([RCNPJKFQO][0-9][0-9] )*[RCNPJKFQO][0-9][0-9]: '
fault_cases='F??:*,F?? *,Q??:*,Q?? *,R??:*,R?? *,C??:*,C?? *,N??:*,N?? *,P??:*,P?? *,J??:*,J?? *,K??:*,K?? *,O??:*,O?? *'

# fault_tests: every test that is evidence, a line "FILE|NAME" each.
fault_tests() { every_test tests | grep -E "\|${fault_tag#^}"; }

# fault_suites: the suites and files that have such tests, as run_suites takes them.
fault_suites() {
  fault_tests | cut -d '|' -f 1 | sed -E 's,^tests/,,; s,/[^/]*\.cpp$,,; s,\.bats$,,' | sort -u
}

# What the results in $out say of each test: "ok|failed|skipped NAME", and "later NAME" of each that
# only the nightly runs.
fault_results() {
  [ "${tags:-}" != '!nightly' ] ||
    grep -rhA 1 --include='*.bats' '^# bats test_tags=nightly$' tests |
    sed -nE 's/^@test "(.*)" \{$/later \1/p' | grep -E "^later ${fault_tag#^}" || true
  sed -nE 's/^not ok [0-9]+ (.*)/failed \1/p; t
    s/^ok [0-9]+ (.*) # skip(.*)/skipped \1/p; t
    s/^ok [0-9]+ (.*)/ok \1/p' "$out"/*.tap | grep -E "^[a-z]+ ${fault_tag#^}" || true
}

# fault_table: prints every row with its verdict. What is wrong with the table itself (no test and
# no reason, a tag without a row …) counts as failures of the suite "faults-table".
fault_table() {
  local to=$out/faults-table
  { printf '%s\n' "${fault_rows[@]}" | sed 's/^/want|/'
    grep -hv '^#' tests/faults/rows/*.txt | sed 's/^/row|/'
    fault_results | sed 's/ /|/; s/^/got|/'; } | awk -F '|' -v wrong="$to.wrong" -v sum="$to.count" '
    function complain(text) { print "  " text >wrong; errors++ }
    function known(id) { return id in fault }
    $1 == "want" { letter = substr($2, 1, 1)
      for (i = 1; i <= substr($2, 2) + 0; i++) order[++rows] = sprintf("%s%02d", letter, i) }
    $1 == "row" { if (NF < 6) complain($2 ": a row has five fields")
      if (known($2)) complain($2 ": stands twice in the rows")
      class[$2] = $3; fault[$2] = $4; note[$2] = $6 }
    $1 == "got" { count = split(substr($3, 1, index($3, ":") - 1), ids, " ")
      for (i = 1; i <= count; i++) { seen[ids[i]] = 1
        if ($2 == "failed") bad[ids[i]] = 1
        else if ($2 == "ok") good[ids[i]] = 1
        else if ($2 == "later") later[ids[i]] = 1 } }
    function verdict(id,   excuse) {
      excuse = match(note[id], /^(pending M[0-9]|not run): ./)
      if (!(id in seen) && excuse) return note[id]
      if (!(id in seen)) { complain(id ": no test and no reason"); return "NO TEST" }
      if (excuse) complain(id ": has a test and says \"" note[id] "\"")
      if (id in bad) return "FAILED"
      if (!(id in good)) return id in later ? "nightly" : "skipped"
      excuse = class[id] == "U" ? "fails as said" : "ok"
      return note[id] == "" ? excuse : excuse " (" note[id] ")" }
    END { print "\nthe faults"
      for (i = 1; i <= rows; i++) { id = order[i]; listed[id] = 1
        if (!known(id)) { complain(id ": has no row"); continue }
        said = verdict(id); printf "%-3s %-3s %-60s %s\n", id, class[id], fault[id], said
        sub(/[:(].*/, "", said); sub(/ $/, "", said); sums[said]++ }
      for (id in seen) if (!known(id)) complain(id ": a test names it, but there is no such row")
      for (id in fault) if (!(id in listed)) complain(id ": a row that nobody expects")
      for (said in sums) print sums[said] " " said | "sort -k 2"; close("sort -k 2")
      print (errors == 0), errors + 0, 0 >sum }'
  [ ! -e "$to.wrong" ] || sed 's/^ */the table: /' "$to.wrong" >"$to.failed"
}
