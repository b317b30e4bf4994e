#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: ./dev lists all its words, refuses others, and counts every test once.
bats_require_minimum_version 1.5.0

setup() {
  bats_load_library bats-support
  bats_load_library bats-assert
  cd "$BATS_TEST_DIRNAME/.." || return 1
}

# A stand-in for a folder of results, and what ./dev makes of it.
counts_of() { # TAP
  # shellcheck source=tests/run.bash
  . tests/run.bash
  out=$BATS_TEST_TMPDIR/out pattern=""
  export pattern
  mkdir -p "$out"
  printf '%s\n' "$@" >"$out/suite.tap"
  end_of suite 0
  sum_up
}

@test "help lists every word, and every word of the help is there" {
  run -0 ./dev help
  assert_equal "$(sed -nE 's/^  ([a-z]+) .*/\1/p' <<<"$output" | sort -u | xargs)" \
    "$(sed -nE 's/^word_([a-z]+)\(\).*/\1/p' dev | sort -u | xargs)"
  assert_equal "$(./dev)" "$output"
}

@test "a word, a suite or a check that is not there is refused" {
  run -2 ./dev no-such-word
  run -2 ./dev test no-such-suite
  run -2 ./dev lint no-such-thing
  run -2 ./dev setup no-such-thing
  run -2 python3 -B packaging/bench quick no-such-part
  run -2 python3 -B packaging/bench quick other
}

@test "setup --check only looks, and says nothing is missing when nothing is" {
  run ./dev setup --check
  [ "$status" -le 1 ]
  [ "$status" = 1 ] || assert_output "nothing is missing"
}

# In a push ./dev lint looks at these and all other scripts.
# bats test_tags=nightly
@test "the scripts of the project are clean" {
  run -0 shellcheck -x dev .ci/run tests/run.bash tests/mutants/run.bash tests/dev.bats \
    packaging/demo.sh
  assert_output ""
}

@test "the programs of the benchmark can be read" {
  run -0 python3 -c 'import ast, sys
for name in sys.argv[1:]: ast.parse(open(name).read())' packaging/bench/*.py packaging/peers.py
}

# bats test_tags=nightly
@test "the benchmark has figures for each of its parts, and none became slower than itself" {
  cd "$BATS_TEST_TMPDIR" # nothing of it may depend on where it is called from
  local bench=$BATS_TEST_DIRNAME/../packaging/bench
  run -0 python3 -B "$bench" quick uncontended waiters scripts commands --json figures --svg plot \
    --dlock "${DLOCK:-$BATS_TEST_DIRNAME/../build/dev/dlock}"
  assert_line --partial "written to figures"
  run -0 python3 -c 'import json
figures = json.load(open("figures"))
print(sorted(figures), figures["machine"]["redis"], figures["parts"]["waiters"]["stolen_percent"])
for store in ("unix socket", "tcp", "sqlite", "local"):
  one = figures["uncontended"]["dlock, " + store]["x_flock"]
  print(store, 0 < one["q1"] <= one["median"] <= one["q3"], one["n"])
print(figures["uncontended"]["dlock release"]["ms"]["median"] > 0)
print(figures["waiters"]["8"]["commands_per_handoff"] > 1, figures["waiters"]["8"]["x_flock"] > 0)
print(figures["scripts"]["dlock"]["x_redisson"]["median"] > 0)
print(figures["commands"]["hand-off"]["in_scripts"]["median"] > 5)'
  assert_line --regexp "^\\['commands', 'machine', 'parts', 'scripts', 'uncontended', 'waiters'\\] Redis server.*[0-9]"
  assert_equal "${lines[*]:1}" \
    "unix socket True 20 tcp True 20 sqlite True 20 local True 20 True True True True True"
  run -0 python3 -B "$bench" quick other --json others --svg plot --dlock "${DLOCK:-$BATS_TEST_DIRNAME/../build/dev/dlock}" \
    --other "${DLOCK:-$BATS_TEST_DIRNAME/../build/dev/dlock}"
  run -0 python3 -c 'import json
print([0.5 < one["x_other"]["median"] < 2 for one in json.load(open("others"))["other"].values()])'
  assert_output "[True, True, True, True]"
  run -0 python3 -B "$bench" --read figures --compare figures
  assert_line --regexp '^0 of [1-9][0-9]+ figures became slower than in figures$'
}

# figures FILE CPUS FIGURE…: a stored run; each figure is its median and its quartiles. FLOCK is one
# of another program.
figures() {
  python3 -c 'import json, os, sys
values = dict(zip(("ms", "x_flock", "runs_per_s", "server_bytes"), sys.argv[3:]))
def figure(name, text):
    median, low, high = map(float, text.split(","))
    better = {"better": "more"} if name == "runs_per_s" else {}
    return {"median": median, "q1": low, "q3": high, "n": 9, **better}
row = {name: figure(name, text) for name, text in values.items()}
flock = {"ms": figure("ms", os.environ.get("FLOCK", "1,0.9,1.1"))}
json.dump({"machine": {"cpus": sys.argv[2]}, "parts": {}, "crowd": {"dlock": row, "flock": flock}},
          open(sys.argv[1], "w"))' "$@"
}
@test "bench --compare names each figure that became slower by more than its spread" {
  cd "$BATS_TEST_TMPDIR"
  local bench=(python3 -B "$BATS_TEST_DIRNAME/../packaging/bench")
  figures old 2 5,4,6 1.20,1.18,1.22 100,90,110 400,400,400
  figures slower 2 8,7,9 1.30,1.25,1.35 80,75,85 500,500,500
  figures within 2 5.9,4.5,7 1.24,1.15,1.30 95,80,110 410,410,410
  figures faster 2 3,2,4 1.10,1.09,1.11 140,130,150 300,300,300
  run -1 "${bench[@]}" --read slower --compare old
  assert_line "slower: crowd, dlock, ms: 5 (4-6) before, 8 (7-9) now (+60 %)"
  assert_line "slower: crowd, dlock, x_flock: 1.2 (1.18-1.22) before, 1.3 (1.25-1.35) now (+8 %)"
  assert_line "slower: crowd, dlock, runs_per_s: 100 (90-110) before, 80 (75-85) now (-20 %)"
  assert_line "slower: crowd, dlock, server_bytes: 400 (400-400) before, 500 (500-500) now (+25 %)"
  assert_equal "${lines[-1]}" "4 of 4 figures became slower than in old"
  for better in within faster old; do
    run -0 "${bench[@]}" --read $better --compare old
    assert_equal "${lines[-1]}" "0 of 4 figures became slower than in old"
  done
  figures elsewhere 8 8,7,9 1.30,1.25,1.35 80,75,85 400,400,400 # slower, but not in what compares
  run -1 "${bench[@]}" --read elsewhere --compare old
  assert_line --partial "slower: crowd, dlock, x_flock: "
  assert_line "only ratios, counts and memory are compared in all parts: it is of another machine"
  assert_equal "${lines[-1]}" "1 of 2 figures became slower than in old"
  FLOCK=2,1.5,2.5 figures busy 2 8,7,9 1.20,1.18,1.22 80,75,85 400,400,400 # as slow as flock became
  run -0 "${bench[@]}" --read busy --compare old
  assert_line "only ratios, counts and memory are compared in crowd: flock took longer as well"
  assert_equal "${lines[-1]}" "0 of 2 figures became slower than in old"
  run -1 "${bench[@]}" --read old --compare no-such-file
  assert_output "bench: cannot read no-such-file: No such file or directory"
}

@test "passed, failed and skipped tests are counted, and failures shown" {
  run -1 counts_of 1..3 "ok 1 good" "not ok 2 bad" "# why" "ok 3 left out # skip no fish here"
  assert_line "  FAILED bad"
  assert_line "    why"
  assert_line "failed: suite: bad"
  assert_line "skipped: suite: left out: no fish here"
  assert_equal "${lines[-1]}" "1 passed, 1 failed, 1 skipped"
}

@test "a test that did not run is a failure" {
  run -1 counts_of 1..4 "ok 1 good" "ok 2 also good"
  assert_line "failed: suite: 2 did not run"
  assert_equal "${lines[-1]}" "2 passed, 2 failed"
}

@test "a push leaves a file to the nightly if all its tests are tagged so, and no other file" {
  # shellcheck source=tests/run.bash
  . tests/run.bash
  cd "$BATS_TEST_TMPDIR"
  printf '%s\n' '# bats test_tags=nightly' '@test "a" {' >long.bats
  printf '%s\n' '# bats test_tags=nightly' '@test "a" {' '@test "b" {' >mixed.bats
  : >none.bats
  tags='!nightly' run -0 for_now < <(printf '%s\n' long.bats mixed.bats none.bats)
  assert_output $'mixed.bats\nnone.bats'
  tags='' run -0 for_now < <(echo long.bats)
  assert_output long.bats
}

@test "a suite without tests is a failure" {
  run -1 counts_of 1..0
  assert_line "failed: suite: has no tests"
  assert_equal "${lines[-1]}" "0 passed, 1 failed"
}

@test "a sanitizer's report is a failure, wherever it came from" {
  mkdir -p "$BATS_TEST_TMPDIR/out"
  echo "data race" >"$BATS_TEST_TMPDIR/out/suite.sanitizer.123"
  run -1 counts_of 1..1 "ok 1 good"
  assert_line "    data race"
  assert_equal "${lines[-1]}" "1 passed, 1 failed"
}

@test "that the address sanitizer warns of fibers is no report; what comes with it is one" {
  mkdir -p "$BATS_TEST_TMPDIR/out"
  local warned="==9==WARNING: ASan doesn't fully support makecontext/swapcontext functions and may"
  echo "$warned" >"$BATS_TEST_TMPDIR/out/suite.sanitizer.123"
  run -0 counts_of 1..1 "ok 1 good"
  assert_equal "${lines[-1]}" "1 passed, 0 failed"
  echo overflow >>"$BATS_TEST_TMPDIR/out/suite.sanitizer.123"
  run -1 counts_of 1..1 "ok 1 good"
  assert_equal "${lines[-1]}" "1 passed, 1 failed"
}

# attempts PERCENT VERDICT…: a suite with this verdict the first time, and so on, on a host that has
# taken PERCENT per cent of the processors away.
attempts() {
  # shellcheck source=tests/run.bash
  . tests/run.bash
  out=$BATS_TEST_TMPDIR/out pattern=""
  export pattern proc_stat=$BATS_TEST_TMPDIR/stat verdicts=("${@:2}")
  mkdir -p "$out"
  echo "cpu  100 0 100 800 0 0 0 7 0 0" >"$proc_stat"
  # shellcheck disable=SC2317  # run_fairly calls it
  one_attempt() {
    echo "cpu  100 0 100 $((900 - percent)) 0 0 0 $((7 + percent)) 0 0" >"$proc_stat"
    printf '%s\n' 1..1 "${verdicts[0]}" >"$out/suite.tap"
    verdicts=("${verdicts[@]:1}")
    end_of "$1" 0
  }
  local percent=$1
  run_fairly one_attempt suite
  echo "left: ${#verdicts[@]}"
  sum_up
}
@test "what fails while the host takes processors away runs once more, and says so" {
  run -0 attempts 50 "not ok 1 in time" "ok 1 in time"
  assert_line "  FAILED in time"
  assert_line "again: suite: 1 failed while 50 % of the processors were taken away"
  refute_line --partial "failed: "
  assert_equal "${lines[-1]}" "1 passed, 0 failed"
  rm -r "$BATS_TEST_TMPDIR/out"
  run -1 attempts 50 "not ok 1 in time" "not ok 1 in time" "ok 1 in time"
  assert_line "left: 1"
  assert_line "failed: suite: in time"
  assert_equal "${lines[-1]}" "0 passed, 1 failed"
}
@test "what passes, fails on a host that gives what it has, or has a report, runs once" {
  run -0 attempts 50 "ok 1 good" "not ok 1 bad"
  assert_line "left: 1"
  run -1 attempts 4 "not ok 1 in time" "ok 1 in time"
  assert_line "left: 1"
  refute_line --partial "again: "
  echo "data race" >"$BATS_TEST_TMPDIR/out/suite.sanitizer.123"
  run -1 attempts 50 "ok 1 good" "ok 1 good"
  assert_line "left: 1"
  assert_equal "${lines[-1]}" "1 passed, 1 failed"
}

# gate BUDGET-LINES WORD…: .ci/run with these steps.
gate() {
  printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/budget"
  DLOCK_CI_BUDGET=$BATS_TEST_TMPDIR/budget DLOCK_CI_LOGS=$BATS_TEST_TMPDIR/logs .ci/run "${@:2}"
}
@test "each step of the gate has its row in a table, and one over its budget is named" {
  run -1 gate $'push 0 sleep 1.1\npush 9 false\nnightly 9 touch no\npush 9 echo 3 passed, 0 failed, 1 skipped'
  assert_line --regexp '^ +0:0[1-9] +0:00 +0:00 +[0-9]+ %  sleep 1.1$'
  assert_line --regexp '^over budget: sleep 1.1: [1-9] s, and may take 0$'
  refute_line --regexp 'over budget: (false|echo)'
  assert_line "failed: [false] false ended with 1"
  refute_line --partial touch
  assert_equal "${lines[-1]}" "4 passed, 1 failed, 1 skipped"
}
@test "a gate names what failed in a step that has words of its own for it" {
  printf 'echo %s\n' 'ok tidy' 'FAILED  x' '1 passed, 1 failed' 'exit 1' | sed '$s/echo //' \
    >"$BATS_TEST_TMPDIR/lint"
  printf 'echo %s\n' 'seed 7: two held' '0 passed, 1 failed' >"$BATS_TEST_TMPDIR/sim"
  run -1 gate "push 9 bash $BATS_TEST_TMPDIR/lint"$'\n'"push 9 bash $BATS_TEST_TMPDIR/sim"
  assert_line "failed: [bash $BATS_TEST_TMPDIR/lint] FAILED x"
  assert_line "failed: [bash $BATS_TEST_TMPDIR/sim] seed 7: two held"
  assert_equal "${lines[-1]}" "1 passed, 2 failed"
}
@test "a gate goes on from a step, with the results of the steps before it, and an unknown one is refused" {
  local steps=$'nightly 9 false\nnightly 9 echo SEED one\nnightly 9 echo two'
  SEED=6 run -1 gate "$steps" nightly
  assert_equal "${lines[-1]}" "2 passed, 1 failed"
  SEED=7 run -1 gate "$steps" nightly --from one
  assert_line "7 one"
  refute_line "6 one"
  refute_line "=== false"
  assert_line --regexp '^ +0:0[0-9] +0:09 .* false$'
  assert_line --regexp '^ +0:0[0-9] +0:27 .* all$'
  assert_line "failed: [false] false ended with 1"
  assert_equal "${lines[-1]}" "2 passed, 1 failed"
  run -0 gate $'push 9 echo one' push
  assert_equal "${lines[-1]}" "1 passed, 0 failed"
  rm -r "$BATS_TEST_TMPDIR/logs"
  run -1 gate "$steps" nightly --from two
  assert_line "failed: [false] it has not run"
  assert_equal "${lines[-1]}" "1 passed, 2 failed"
  run -2 gate "$steps" nightly --from three
  run -2 gate "$steps" push
  run -2 gate "$steps" weekly
}
@test "the budget of a push is half an hour, of a night three hours, and each step is a word of dev" {
  # shellcheck disable=SC2016  # of awk
  run -0 awk '{ sum[$1] += $2 } END { print sum["push"] <= 1800, sum["nightly"] <= 10800 }' .ci/budget
  assert_output "1 1"
  run ! grep -vE '^(#|$|(push|nightly) [0-9]+ (env( [A-Z_]+=([a-z]+|SEED))+ )?\./dev [a-z]+)' .ci/budget
}

@test "a server that cannot be fetched, or is another version, is a failure that says why" {
  local out=$BATS_TEST_TMPDIR/out pattern=""
  export pattern
  # shellcheck source=/dev/null
  . tests/run.bash && . tests/support/fetch.bash && . tests/servers/run.bash
  # shellcheck disable=SC2034  # for run.bash
  servers_home=$BATS_TEST_TMPDIR/servers
  server_table() { printf '%s\n' "old 1.0 wheel nothing x" "lost 1.0 wheel nowhere y"; }
  persist() { "${@:4}"; }
  from_wheel() { [ "$2" = nothing ] && ln -s "$(command -v redis-server)" "$1/bin/redis-server"; }
  server_suites() { echo unit; }
  mkdir "$out"
  run -0 run_servers old lost
  assert_line "  this is not version 1.0"
  run sum_up
  assert_line "failed: old: it cannot be had"
  assert_line "failed: lost: it cannot be had"
  assert_equal "${lines[-1]}" "0 passed, 2 failed"
}

@test "only passes make a success" {
  run -0 counts_of 1..2 "ok 1 good" "ok 2 # not a skip # really"
  assert_equal "${lines[-1]}" "2 passed, 0 failed"
}

test_mutants() { DLOCK_MUTANTS_DIR=$BATS_TEST_TMPDIR/mutants bash tests/mutants/run.bash "$@"; }
# mutant ID LINE…: adds a mutant with these keys and changes.
mutant() {
  local file=$BATS_TEST_TMPDIR/mutants/samples.mutants
  mkdir -p "${file%/*}"
  [ -e "$file" ] || echo "# A*: samples" >"$file"
  printf '%s\n' "" "$1 a mutant" "${@:2}" >>"$file"
}
@test "a mutant has to be caught by all its oracles, and these must not accuse the correct code" {
  local line="return {ttl > 0 and 'renewed' or 'held'}" lost="oracle: lua/scripts renew 'lost'"
  local renewed="oracle: lua/scripts renew 'renewed': both" change
  change=("-$line" "+return {'lost'}")
  mutant A01 "$renewed" "${change[@]}"
  mutant A02 "$renewed" "-$line" "+$line -- as before"
  mutant A03 "$renewed" "$lost" "${change[@]}"
  mutant A04 "oracle: lua/scripts no such test" "${change[@]}"
  mutant A05 "${change[@]}"
  mutant A06 "$renewed" "-return {'another line'}" "+return {'lost'}"
  mutant A07 "pending: M9" "${change[@]}"
  mutant A08 "limit: 2" "$renewed" "-$line" "+while true do end" # nobody is ever answered
  run -1 test_mutants
  assert_line --regexp '^FAILED the correct build: lua/scripts "no such test": no test of that name'
  assert_line --regexp '^A01 a mutant .*caught by lua/scripts "renew .renewed.: both"'
  assert_line --regexp '^FAILED A02 a mutant: survived: lua/scripts "renew .renewed.: both"'
  assert_line --regexp '^FAILED A03 a mutant: survived: lua/scripts "renew .lost."'
  assert_line --regexp '^FAILED A04 a mutant: its oracle accuses the correct build'
  assert_line --regexp '^FAILED A05 a mutant: names no oracle'
  assert_line --regexp '^FAILED A06 a mutant: does not fit'
  assert_line --regexp '^A07 a mutant .* pending: M9'
  assert_line --regexp '^FAILED A08 a mutant: no verdict'
  # Made, cleared in one of the two copies, and A01.
  assert_equal "${lines[-1]}" "3 passed, 7 failed"
  run -0 test_mutants A01 A02 A07 --half=6
  assert_line --regexp '^A07 a mutant .* pending: M9'
  refute_line --partial "A02 a mutant"
  assert_equal "${lines[-1]}" "3 passed, 0 failed"
  run -2 test_mutants A99
}

@test "the old text of a mutant that is not there, or not only once, is an error" {
  local line="return {ttl > 0 and 'renewed' or 'held'}" change
  change=("-$line" "+return {'lost'}")
  mutant A01 "${change[@]}"
  mutant A02 "-return {'another line'}" "+return {'lost'}"
  mutant A03 "-}"
  mutant A04 "-${line% or*}" # a part of a line
  mutant A05 "${change[@]}" "@@ a second change" "-return {'lost'}" "+$line -- as before"
  mutant A06 "-$line" "@@ what the first has taken away" "-$line"
  mutant A07 " $line"
  mutant A08 "pending: M9" "-return {'another line'}"
  mutant A09
  run -1 test_mutants --fits
  refute_line --regexp 'A01|A05|A08'
  assert_line "FAILED A02 a mutant: old text 1 occurs 0 times below src/ and cmd/, not once"
  assert_line "    nowhere: return {'another line'}"
  assert_line --regexp "^FAILED A03 a mutant: old text 1 occurs [1-9][0-9]+ times below src/ and cmd/, not once"
  assert_line --partial "FAILED A04 a mutant: old text 1 occurs 0 times"
  assert_line --partial "FAILED A06 a mutant: old text 2 occurs 0 times"
  assert_line "FAILED A07 a mutant: changes nothing"
  assert_line "FAILED A09 a mutant: changes nothing"
  assert_regex "${lines[-1]}" "^[0-9]+ passed, 6 failed$"
}

# refused_mutants REASON LINE…: a file of these lines is refused with this reason.
refused_mutants() {
  printf '%s\n' "${@:2}" >"$BATS_TEST_TMPDIR/mutants/samples.mutants"
  run -2 test_mutants --fits
  assert_output --regexp "^mutants: .*/samples.mutants:$1"
}
@test "a mutant that stands twice, in a wrong file or in another form is an error" {
  local header="# A* B1*: samples" first="A01 a mutant"
  mkdir "$BATS_TEST_TMPDIR/mutants"
  refused_mutants "1: is not '# PATTERN" "$first"
  refused_mutants "2: B01 belongs in another file" "$header" "B01 a mutant"
  refused_mutants "4: A01 does not belong after A02" "$header" "A02 a mutant" "" "$first"
  refused_mutants "4: A01 does not belong after A01" "$header" "$first" "" "$first"
  refused_mutants "3: is out of place: oracel: x" "$header" "$first" "oracel: x"
  refused_mutants "4: is out of place: oracle: x" "$header" "$first" "-x" "oracle: x"
  refused_mutants "4: is out of place: A02" "$header" "$first" "-x" "A02 a mutant" # no empty line
  refused_mutants "5: is out of place: -y" "$header" "$first" "-x" "" "-y"
  refused_mutants "3: is out of place: $" "$header" "$first" " " "-y"
  printf '%s\n' "$header" "$first" >"$BATS_TEST_TMPDIR/mutants/others.mutants"
  refused_mutants " A01 stands in another file as well" "$header" "$first"
  echo "$first" >"$BATS_TEST_TMPDIR/mutants/A02.mutant"
  run -2 test_mutants --fits
  assert_output --partial "/A02.mutant: a mutant belongs in the file of its area"
}

@test "every mutant fits the code" {
  run -0 ./dev test mutants --fits
  assert_regex "${lines[-1]}" "^[1-9][0-9]+ passed, 0 failed$"
}
