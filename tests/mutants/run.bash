#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The mutant suite, by ./dev test mutants [--nightly] [--half=N] [--lua | --sim] [M01 'G*' …]: would
# the tests notice? Each mutant in *.mutants beside this file breaks one rule of dlock, and all of its
# oracles, which are tests of the other suites, must fail because of it; with --lua those of suite lua,
# for which nothing is compiled. --sim: the mutants of tests/sim/core.mutants, for the simulation.
#
# With --half=N every second one only: of an even N the others than of an odd one.
#
# Each file is an area and says in its first line which ids belong to it. mutation.py reads the files
# and explains their form. --fits, in a second, only checks that form and that each old text is there once.
# The keys of a mutant:
#   oracle: lua/scripts release 'not_    suite and part of the names of its tests (bats: a regular
#                                        expression; a comma would end it for doctest; chaos and
#                                        sim: the words of ./dev chaos and ./dev sim)
#   nightly: cli/contention two hundred  an oracle from end to end, with --nightly only
#   limit: 20                            seconds for one oracle; 120 if there is none
#   pending: several masters             there is no test yet, and perhaps no text; what it waits for
# M03a and M03b break the same in two places.
#
# All this is done on copies in build/mutants: two lanes (with --lua, more) with a copy each share the
# mutants, as most oracles mostly wait. First the oracles of a lane have to pass there on the code as it is. An
# oracle that comes to no verdict within its limit, and a mutant that does not fit or compile, are
# failures of the suite: nothing was shown then.
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.."
# shellcheck source=tests/run.bash
. tests/run.bash # taken_away, starved
# shellcheck source=tests/support/copy_sources.bash
. tests/support/copy_sources.bash

mutants=${DLOCK_MUTANTS_DIR:-$PWD/tests/mutants} # another folder: to test this program
work=${DLOCK_MUTANTS_DIR:-$PWD/build}/mutants    # a folder for each lane
mutation=$PWD/tests/mutants/mutation.py
lanes=2
passed=0 failed=0

# enter LANE: what follows is about its copy.
enter() {
  place=$work/$1
  tree=$place/tree         # sources and build, with the mutation
  clean=$place/clean       # the same without, to go back to
  stamp=$place/stamp       # files of the tree that are newer were changed by a mutation
  accusers=$place/accusers # oracles that fail on the code as it is
  log=$place/log
  export CCACHE_BASEDIR=$tree
}

say() { printf '%s\n' "$*"; }
die() { say "mutants: $*" >&2; exit 2; }
ok() { passed=$((passed + 1)) && say "$*"; }
bad() { failed=$((failed + 1)) && say "FAILED $*"; }
evidence() { tail -n "${1:-15}" "$log" | sed 's/^/    /'; }

# --- the copy ----------------------------------------------------------------------------------

# Puts back what a mutation changed, with its old time.
restore() {
  local file
  [ -e "$stamp" ] || return 0
  while IFS= read -r -d '' file; do
    if [ -e "$clean/$file" ]; then cp -p "$clean/$file" "$tree/$file"; else rm -f "$tree/$file"; fi
  done < <(cd "$tree" && find . -type f -newer "$stamp" -print0)
}
keep() { # what is there is what restore goes back to
  mkdir -p "$clean"
  cp -au "$tree/." "$clean/"
}
# A second earlier: files that are written at the same tick of the clock are not newer.
begin_change() { touch -d '1 second ago' "$stamp"; }

# build SUITE…: what these suites need.
build() {
  local suite targets=()
  for suite; do
    case ${suite%%/*} in
      lua) ;; # the scripts as they are
      unit | sys | contract) targets+=("${suite}_tests") ;;
      sim) targets+=(dlock_sim) ;;
      *) targets+=(dlock) ;;
    esac
  done
  [ ${#targets[@]} != 0 ] || return 0
  (
    cd "$tree"
    # A mutant may leave something unused; nobody looks into it with a debugger; and it changes one
    # file.
    [ -e build/dev/build.ninja ] ||
      cmake --preset dev -DDLOCK_WERROR=OFF -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_UNITY_BUILD=OFF
    cmake --build build/dev -j "$(nproc)" --target "${targets[@]}"
  ) >"$log" 2>&1
}

# --- oracles -----------------------------------------------------------------------------------

# ask SUITE PATTERN LIMIT: runs these tests in the tree; leaves in verdict passed, failed, "no test
# of that name" or "no verdict", and in took the seconds.
ask() {
  local suite=$1 pattern=$2 since=$EPOCHREALTIME rc=0 good=0 wrong=0
  local contained=(python3 tests/mutants/contained.py "$3")
  case $suite in
    unit | sys | contract)
      "${contained[@]}" "$tree/build/dev/tests/${suite}_tests" --no-colors=true \
        "--test-case=*$pattern*" >"$log" 2>&1 || rc=$?
      read -r good wrong < <(grep '^\[doctest\] test cases:' "$log" | tail -n 1 |
        tr -cs '0-9\n' ' ' | awk '{ print $2, $3 }' | grep . || echo 0 0)
      ;;
    chaos)
      # shellcheck disable=SC2086  # words
      DLOCK=$tree/build/dev/dlock "${contained[@]}" \
        python3 -B "$tree/tests/chaos/main.py" $pattern >"$log" 2>&1 || rc=$?
      good=$(grep -oE '^[0-9]+ passed' "$log" | grep -oE '[0-9]+' || echo 0)
      wrong=$(grep -cE '^violated:' "$log") || true
      ;;
    sim)
      # shellcheck disable=SC2086  # words
      "${contained[@]}" "$tree/build/dev/tests/dlock_sim" $pattern >"$log" 2>&1 || rc=$?
      good=$(grep -c '^ok ' "$log") || true
      wrong=$(grep -c '^FAILED ' "$log") || true
      ;;
    *)
      DLOCK=$tree/build/dev/dlock "${contained[@]}" bats --formatter tap \
        --print-output-on-failure --filter "$pattern" "$tree/tests/$suite.bats" \
        >"$log" 2>&1 || rc=$?
      good=$(grep -c '^ok ' "$log") || true
      wrong=$(grep -c '^not ok ' "$log") || true
      ;;
  esac
  took=$(awk -v from="$since" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }')
  verdict="no verdict"
  if [ "$rc" = 124 ]; then return; fi
  if [ "$wrong" != 0 ]; then verdict=failed; return; fi
  if [ "$rc" = 0 ]; then verdict=passed; fi
  if [ "$good" = 0 ] && [ "$rc" = 0 ]; then verdict="no test of that name"; fi
}

# ask_for VERDICT SUITE PATTERN LIMIT: the same, and once more if it is another one and the host has
# taken processors away.
ask_for() {
  local before taken
  read -ra before < <(taken_away)
  ask "${@:2}"
  if [ "$verdict" = "$1" ] || ! starved "${before[@]}"; then return; fi
  say "again: $2 \"$3\": $verdict while $taken % of the processors were taken away"
  ask "${@:2}"
}

# oracles ID…: those of these mutants, one a line.
oracles() { local id && for id; do printf '%s' "${oracles[$id]:-}"; done; }
suites_of() { oracles "$@" | sed 's/ .*//' | sort -u; }

# clear_the_correct_build ID…: it must not be accused.
clear_the_correct_build() {
  local oracle count=0 since=$SECONDS
  : >"$accusers"
  while IFS= read -r oracle; do
    ask_for passed "${oracle%% *}" "${oracle#* }" 120
    count=$((count + 1))
    [ "$verdict" != passed ] || continue
    say "$oracle" >>"$accusers"
    bad "the correct build: ${oracle%% *} \"${oracle#* }\": $verdict" && evidence
  done < <(oracles "$@" | sort -u)
  [ -s "$accusers" ] || ok "the correct build is cleared by $count oracles in $((SECONDS - since)) s"
}

# --- mutants -----------------------------------------------------------------------------------

# try_mutant ID
try_mutant() {
  local title=${titles[$1]} oracle suites by=""
  begin_change
  if ! (cd "$tree" && python3 -B "$mutation" apply "$mutants" "$1") >"$log" 2>&1; then
    bad "$title: does not fit" && evidence
    return
  fi
  mapfile -t suites < <(suites_of "$1")
  if ! build "${suites[@]}"; then
    bad "$title: does not build" && evidence 40
    return
  fi
  while IFS= read -r oracle; do
    if grep -qxF -- "$oracle" "$accusers"; then
      bad "$title: its oracle accuses the correct build: $oracle"
      return
    fi
    ask_for failed "${oracle%% *}" "${oracle#* }" "${limits[$1]:-120}"
    if [ "$verdict" != failed ]; then
      [ "$verdict" = passed ] && verdict="survived"
      bad "$title: $verdict: ${oracle%% *} \"${oracle#* }\", $took s" && evidence
      return
    fi
    by+="${by:+, }${oracle%% *} \"${oracle#* }\" in $took s"
  done < <(oracles "$1")
  if [ -z "$by" ]; then
    bad "$title: names no oracle"
  else
    ok "$(printf '%-58s caught by %s' "$title" "$by")"
  fi
}

# lane N: its mutants, in its copy.
lane() {
  local i id mine=()
  passed=0 failed=0
  enter "$1"
  for ((i = $1 - 1; i < ${#todo[@]}; i += lanes)); do mine+=("${todo[i]}"); done
  keep
  clear_the_correct_build "${mine[@]}"
  for id in "${mine[@]}"; do
    try_mutant "$id"
    restore
  done
  echo "$passed $failed" >"$place/count"
}

nightly=oracle only="" half="" patterns=()
for word; do
  case $word in
    --nightly) nightly=nightly ;;
    --lua) only=lua/ lanes=$((2 * $(nproc))) ;;
    --half=*) half=$((10#${word#*=} % 2)) ;;
    --sim) mutants=$PWD/tests/sim ;;
    --fits) exec python3 -B "$mutation" fits "$mutants" tests/sim ;;
    *) patterns+=("$word") ;;
  esac
done
listed=$(python3 -B "$mutation" list "$mutants" "${patterns[@]}") || exit 2
declare -A titles oracles limits waits_for
while read -r id key value; do
  case $key in
    title) titles[$id]=$value ids+=("$id") ;;
    limit) limits[$id]=$value ;;
    pending) waits_for[$id]=$value ;;
    oracle | "$nightly") [[ $value != "$only"* ]] || oracles[$id]+=$value$'\n' ;;
  esac
done <<<"$listed"
todo=()
for id in "${ids[@]}"; do
  if [ -n "${waits_for[$id]:-}" ]; then
    say "$(printf '%-58s pending: %s' "${titles[$id]}" "${waits_for[$id]}")"
  elif [ -z "$only" ] || [ -n "${oracles[$id]:-}" ]; then
    todo+=("$id")
  fi
done
if [ -n "$half" ]; then
  all=("${todo[@]}") todo=()
  for ((i = half; i < ${#all[@]}; i += 2)); do todo+=("${all[i]}"); done
fi

mkdir -p "$work"
exec 9>"$work/lock"
flock -n 9 || die "another run uses build/mutants"
rm -f "$work"/*/count
if launcher=$(command -v ccache); then
  # The second copy is then not compiled once more.
  export CMAKE_CXX_COMPILER_LAUNCHER=$launcher CCACHE_NOHASHDIR=1
fi
[ ${#todo[@]} -ge $lanes ] || lanes=${#todo[@]}
mapfile -t suites < <(suites_of "${todo[@]}")
since=$SECONDS
for ((i = 1; i <= lanes; i++)); do
  enter "$i"
  mkdir -p "$place"
  restore # what an interrupted run left
  copy_sources "$tree"
  if ! build "${suites[@]}"; then
    bad "the code as it is does not build" && evidence 40
    lanes=0
  fi
done
if [ "$lanes" != 0 ]; then
  ok "the correct build is made in $((SECONDS - since)) s"
  trap 'jobs -p | xargs -r kill 2>/dev/null' EXIT
  for ((i = 1; i <= lanes; i++)); do lane "$i" & done
  for job in $(jobs -p); do
    wait "$job" || bad "a lane ended with $?"
  done
  while read -r p f; do passed=$((passed + p)) failed=$((failed + f)); done < <(cat "$work"/*/count)
fi
say "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
