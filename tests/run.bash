# SPDX-License-Identifier: MIT
# Sourced by ./dev: runs the suites and counts. A suite is a doctest binary (unit, sys, contract), a
# folder of bats files (cli, lua, faults, docs, hostile), or one bats file (tidy …). Every run leaves in
# $out: NAME.tap (what was said), NAME.count (passed failed skipped), NAME.failed, NAME.skipped, and
# NAME.again if it ran twice.
# A test that did not run, a crash and a sanitizer's report are failures; a skip is neither.
# shellcheck shell=bash disable=SC2154  # out, pattern, cases and preset are set by the caller

# suite_files SUITE: its bats files, one a line.
suite_files() {
  case $1 in
    cli | lua | faults | docs | hostile) find "tests/$1" -name '*.bats' 2>/dev/null | sort ;;
    *) find "tests/$1.bats" 2>/dev/null || true ;;
  esac
}

# for_now: of the files on stdin those that this run has tests of. A push leaves some to the nightly.
for_now() {
  local file all later
  while IFS= read -r file; do
    all=$(grep -c '^@test ' "$file") later=$(grep -c '^# bats test_tags=nightly$' "$file") || true
    [ "${tags:-}" = '!nightly' ] && [ "$later" != 0 ] && [ "$later" = "$all" ] || echo "$file"
  done
}

# Reports go to files: dlock may run in the background, where nobody looks at its status or words.
sanitizer_options() { # PREFIX_OF_FILES DETECT_LEAKS
  local common="exitcode=99:log_path=$1.sanitizer:disable_coredump=0"
  export ASAN_OPTIONS="$common:detect_leaks=$2" UBSAN_OPTIONS="$common:print_stacktrace=1"
  export TSAN_OPTIONS="$common:second_deadlock_stack=1"
}

# end_of NAME SECONDS: counts what is in NAME.tap, says how it went, and shows what failed.
end_of() {
  local name=$1 file=$out/${1//\//-} report
  for report in "$file".sanitizer.*; do
    [ -e "$report" ] || continue
    # Said of every program with fibers, also of one that tells where their stacks are (sys/fiber.cpp).
    grep -qv "ASan doesn't fully support makecontext/swapcontext" "$report" || continue
    { printf 'not ok 0 %s\n' "sanitizer report" && sed 's/^/# /' "$report"; } >>"$file.tap"
  done
  awk -v name="$name" -v out="$file" '
    /^1\.\.[0-9]+$/ { planned = substr($0, 4); next }
    /^(not )?ok / { bad = /^not/; text = $0; sub(/^(not )?ok [0-9]* */, "", text) }
    /^ok .* # skip/ { skipped++; sub(/ # skip */, ": ", text)
                      print name ": " text >(out ".skipped"); next }
    /^ok / { passed++; next }
    /^not ok / { failed++; print name ": " text >(out ".failed"); print "  FAILED " text; next }
    # Tests that need this server did not run. One failure stands for them, and names the server.
    bad && match($0, /no [^ ]+ installed \(package [^ ]+\)/) {
      absent = substr($0, RSTART, RLENGTH)
      if (!said[absent]++) print name ": " absent >(out ".failed") }
    bad && /^#/ { print "    " substr($0, 3) }
    END { lost = planned - passed - failed - skipped
          if (lost > 0 && !absent) { failed += lost; print name ": " lost " did not run" >(out ".failed") }
          print passed + 0, failed + 0, skipped + 0 >(out ".count") }' "$file.tap" >"$file.text"
  awk -v name="$name" -v took="$2" '{ printf "%-26s %4d passed, %d failed%s  (%d s)\n",
    name, $1, $2, $3 ? ", " $3 " skipped" : "", took }' "$file.count"
  cat "$file.text"
}

# doctest_names: the cases in a doctest log, each "ok NAME" or "not ok NAME"; once, though a process
# that a case has forked may write what its parent had not written yet.
doctest_names() {
  awk '/: (FATAL )?ERROR: / { bad = "not " }
    sub(/^[0-9.]+ s: /, "") { if (!seen[$0]++ || bad) print bad "ok 0 " $0; bad = "" }'
}

# Cases of the contract suite that are about one store, and no server of another kind.
of_one_store='sqlite:*,local:*,O0*,differential*,the contract is tried on every store'

# A doctest binary, or the cases of one store in it (contract-etcd): what it says is turned into the
# lines that bats would write.
run_doctest() {
  local name=$1 log=$out/$1.log rc=0 since=$SECONDS passed failed skipped i filter=() named part=""
  local program=$name
  [ -z "$pattern" ] || filter=("--test-case=*$pattern*")
  [ -z "${cases:-}" ] || filter=("--test-case=$cases" --case-sensitive=true)
  case $name in
    contract) [ -n "$pattern${cases:-}" ] || part=others ;;
    databases | coordinators) program=contract part=$name filter=("--test-case-exclude=$of_one_store") ;;
    contract-*) program=contract part=${name#*-} filter+=("--test-case-exclude=$of_one_store") ;;
    sys-*) program=sys filter=("--test-case=${name#*-}*${pattern:+$pattern*}") ;;
  esac
  sanitizer_options "$out/$name" 1
  DLOCK_CONTRACT=$part timeout -k 10 900 "build/$preset/tests/${program}_tests" --no-colors=true -d=true "${filter[@]}" \
    >"$log" 2>&1 </dev/null &
  echo $! >"$out/$name.pid"
  wait $! || rc=$?
  rm -f "$out/$name.pid"
  read -r passed failed skipped < <(grep '^\[doctest\] test cases:' "$log" | tail -n 1 |
    tr -cs '0-9\n' ' ' | awk '{ print $2, $3, $4 }' | grep . || echo 0 0 0)
  [ "$failed" != 0 ] || [ "$rc" = 0 ] || failed=1 # a crash, or a leak found at the end
  if [ -n "$pattern" ] || [ "$program" != "$name" ]; then skipped=0; fi # the cases not asked for
  named=$(doctest_names <"$log")
  {
    {
      echo "$named"
      for ((i = $(grep -c '^ok' <<<"$named"); i < passed; i++)); do echo "ok 0 case"; done
      for ((i = 0; i < skipped; i++)); do echo "ok 0 case # skip marked so in the source"; done
      for ((i = $(grep -c '^not' <<<"$named"); i < failed; i++)); do
        echo "not ok 0 case of ${name}_tests, status $rc"
      done
    } | sort -s -r -k 1,1 # what failed comes last, before what was said
    [ "$failed" = 0 ] || { grep -B 2 -A 8 'ERROR: ' "$log" || tail -n 200 "$log"; } | sed 's/^/# /'
  } >"$out/$name.tap"
  end_of "$name" $((SECONDS - since)) >"$out/$name.said"
  cat "$out/$name.said" # in one piece, as others may be running
}

# run_bats NAME FILE
run_bats() {
  local name=$1 file=$2 rc=0 since=$SECONDS filter=() to=$out/${1//\//-}
  [ -z "$pattern" ] || filter=(--filter "$pattern")
  [ -z "${tags:-}" ] || filter+=(--filter-tags "$tags")
  sanitizer_options "$to" 0
  # By timeout(1) also because it gives a background process back the INT that the shell ignores in
  # it. BATS_TEST_TIMEOUT would put a job into each test, and a plain "wait" there waits for it.
  timeout -k 10 "${DLOCK_FILE_TIMEOUT:-900}" bats --formatter tap --print-output-on-failure \
    "${filter[@]}" "$file" >"$to.tap" 2>"$to.err" </dev/null &
  echo $! >"$to.pid"
  wait $! || rc=$?
  rm -f "$to.pid"
  if [ "$rc" != 0 ] && ! grep -q '^not ok ' "$to.tap"; then
    { printf 'not ok 0 %s\n' "bats ended with $rc" && sed 's/^/# /' "$to.err"; } >>"$to.tap"
  fi
  end_of "$name" $((SECONDS - since)) >"$to.said"
  cat "$to.said"
}

# Hosts of virtual machines give processors to others (steal, proc_stat(5)), and every time in a test
# is too short then. What fails while more than a twentieth is taken away runs once more, and both
# runs are told. A sanitizer's report stays as it is.

# Jiffies that were taken away, and all there were.
taken_away() {
  awk '/^cpu / { for (i = 2; i <= 9; ++i) all += $i; print $9 + 0, all }' "${proc_stat:-/proc/stat}"
}
# starved STOLEN ALL: since taken_away said so; leaves the per cent in taken.
starved() {
  local stolen all
  read -r stolen all < <(taken_away)
  stolen=$((stolen - $1)) all=$((all - $2))
  taken=$((100 * stolen / (all > 0 ? all : 1)))
  [ $((stolen * 20)) -gt "$all" ]
}
# run_fairly COMMAND NAME …: COMMAND runs the suite NAME.
run_fairly() {
  local file=$out/${2//\//-} before failed taken
  read -ra before < <(taken_away)
  "$@"
  read -r _ failed _ <"$file.count"
  if [ "$failed" = 0 ] || ! starved "${before[@]}" || compgen -G "$file.sanitizer.*" >/dev/null; then
    return 0
  fi
  echo "$2: $failed failed while $taken % of the processors were taken away" | tee "$file.again"
  rm -f "$file.failed" "$file.skipped"
  "$@"
}

# Ends what still runs; for a trap.
# shellcheck disable=SC2038  # pids
stop_suites() { find "$out" -name '*.pid' -exec cat {} + 2>/dev/null | xargs -r kill -TERM 2>/dev/null || true; }

# Files that run at a time: most of them mostly wait, if no sanitizer makes them slow.
lanes() {
  case $preset in
    asan | tsan) nproc ;;
    *) echo $((5 * $(nproc) / 2)) ;;
  esac
}

# run_suites SUITE…: the doctest binaries and the bats files, some at a time; each has a server and a
# folder of its own. A long file that begins last would be waited for alone.
run_suites() {
  local suite name names=() running=0 lanes=${DLOCK_LANES:-$(lanes)}
  for suite; do
    case $suite in
      contract) # in parts, which mostly wait
        names+=(contract)
        [ -n "$pattern${cases:-}${without_servers:-}" ] || names+=(databases coordinators)
        ;;
      unit | sys | sys-* | contract-* | */*) names+=("$suite") ;;
      *)
        mapfile -t -O ${#names[@]} names < <(suite_files "$suite" | for_now | xargs -r ls -S |
          sed -E 's#^tests/(.*)\.bats$#\1#')
        [ -n "$(suite_files "$suite")" ] || echo 0 0 0 >"$out/$suite.count"
        ;;
    esac
  done
  for name in "${names[@]}"; do
    if [ "$running" = "$lanes" ]; then wait -n || true; running=$((running - 1)); fi
    case $name in
      unit | sys | sys-* | contract | contract-* | databases | coordinators) run_fairly run_doctest "$name" & ;;
      *) run_fairly run_bats "$name" "tests/$name.bats" & ;;
    esac
    running=$((running + 1))
  done
  wait
}

# Sums everything up, the last line being "N passed, N failed"; fails if anything failed, or if a
# suite had nothing to run.
sum_up() {
  local passed failed skipped count
  while IFS= read -r count; do
    if [ -z "$pattern" ] && grep -qx '0 0 0' "$count"; then
      count=${count%.count}
      echo "${count##*/}: has no tests" >"$count.failed" && echo 0 1 0 >"$count.count"
    fi
  done < <(find "$out" -name '*.count')
  find "$out" -name '*.failed' | sort | xargs -r sed 's/^/failed: /'
  find "$out" -name '*.skipped' | sort | xargs -r sed 's/^/skipped: /'
  find "$out" -name '*.again' | sort | xargs -r sed 's/^/again: /'
  read -r passed failed skipped < <(find "$out" -name '*.count' -exec cat {} + |
    awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }')
  if [ "$skipped" = 0 ]; then skipped=""; else skipped=", $skipped skipped"; fi
  echo "$passed passed, $failed failed$skipped"
  [ "$failed" = 0 ] && [ "$passed" != 0 ]
}
