#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The mutant suite, by ./dev test mutants [--nightly] [--half=N] [--lua | --sim] [M01 'G*' …]: would
# the tests notice? Each mutant beside this file breaks one rule of dlock, and all of its oracles, which are
# tests of the other suites, must fail because of it; with --lua those of suite lua, for which nothing
# is compiled. --sim: the mutants of tests/sim/mutants, mistakes in the core for the simulation to find.
#
# With --half=N every second one only: of an even N the others than of an odd one.
#
# A mutant is old text -> new text, in whole lines. The old text occurs exactly once in all files
# below src/ and cmd/, and nothing says in which: code can move. --fits only checks that, in seconds.
# A head stands before:
#   M01 release without owner check      the id and what it breaks; below it any remarks
#   oracle: lua/scripts release 'not_    suite and part of the names of its tests (bats: a regular
#                                        expression; a comma would end it for doctest; chaos and
#                                        sim: the words of ./dev chaos and ./dev sim)
#   nightly: cli/contention two hundred  an oracle from end to end, with --nightly only
#   limit: 20                            seconds for one oracle; 120 if there is none
#   --- old
#     if owner ~= me then return {'not_held'} end
#   --- new
#     if false then return {'not_held'} end
# The last two may stand several times, and no line below "--- new" is a deletion. Instead of them a
# mutant may have "pending: " and what it waits for. C: a cluster; M: what others got wrong; D: Redis and the table
# stores differ; E: databases; G: the guard; H: the ways to hold; L: the local store; N: names and several
# servers; P: the command and its processes; Q: a quorum; R: the scripts of the Redis store; S: steps and waits
# without a command; V: hostile servers and other users; W: the waiting line and the news of a
# hold; X: rules besides; Y: etcd; Z: ZooKeeper. M03a and M03b break the same in two places.
#
# All this is done on copies in build/mutants: two lanes (with --lua, more) with a copy each share the
# mutants, as most oracles mostly wait. First the oracles of a lane have to pass there on the code as it is. An
# oracle that comes to no verdict within its limit, and a mutant that does not fit or compile, are
# failures of the suite: nothing was shown then.
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.."
# shellcheck source=tests/run.bash
. tests/run.bash # taken_away, starved

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

# Both put times back or set new ones such that ninja compiles what differs, and no more.
copy_sources() {
  local file
  mkdir -p "$tree"
  while IFS= read -r -d '' file; do
    if [ ! -e "$file" ] || cmp -s "$file" "$tree/$file"; then continue; fi
    mkdir -p "$tree/$(dirname "$file")"
    cp "$file" "$tree/$file" || [ ! -e "$file" ] # another suite's, and gone
  done < <(git ls-files -zco --exclude-standard)
  (cd "$tree" && find . -path ./build -prune -o -type f -printf '%P\n') | sort |
    comm -23 - <(git ls-files -co --exclude-standard | sort) | (cd "$tree" && xargs -rd '\n' rm -f)
}
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

# oracles MUTANT: its oracles, one a line.
oracles() { sed -nE "/^--- /q; s#^($kinds): *($only)#\2#p" "$1"; }
suites_of() { for mutant; do oracles "$mutant"; done | sed 's/ .*//' | sort -u; }
limit_of() { sed -nE '/^--- /q; s/^limit: *//p' "$1" | grep . || echo 120; }

# clear_the_correct_build MUTANT…: it must not be accused.
clear_the_correct_build() {
  local oracle count=0 since=$SECONDS
  : >"$accusers"
  while IFS= read -r oracle; do
    ask_for passed "${oracle%% *}" "${oracle#* }" 120
    count=$((count + 1))
    [ "$verdict" != passed ] || continue
    say "$oracle" >>"$accusers"
    bad "the correct build: ${oracle%% *} \"${oracle#* }\": $verdict" && evidence
  done < <(for mutant; do oracles "$mutant"; done | sort -u)
  [ -s "$accusers" ] || ok "the correct build is cleared by $count oracles in $((SECONDS - since)) s"
}

# --- mutants -----------------------------------------------------------------------------------

# try_mutant MUTANT
try_mutant() {
  local mutant=$1 title oracle suites by=""
  title=$(head -n 1 "$mutant")
  begin_change
  if ! (cd "$tree" && python3 -B "$mutation" apply "$mutant") >"$log" 2>&1; then
    bad "$title: does not fit" && evidence
    return
  fi
  mapfile -t suites < <(suites_of "$mutant")
  if ! build "${suites[@]}"; then
    bad "$title: does not build" && evidence 40
    return
  fi
  while IFS= read -r oracle; do
    if grep -qxF -- "$oracle" "$accusers"; then
      bad "$title: its oracle accuses the correct build: $oracle"
      return
    fi
    ask_for failed "${oracle%% *}" "${oracle#* }" "$(limit_of "$mutant")"
    if [ "$verdict" != failed ]; then
      [ "$verdict" = passed ] && verdict="survived"
      bad "$title: $verdict: ${oracle%% *} \"${oracle#* }\", $took s" && evidence
      return
    fi
    by+="${by:+, }${oracle%% *} \"${oracle#* }\" in $took s"
  done < <(oracles "$mutant")
  if [ -z "$by" ]; then
    bad "$title: names no oracle"
  else
    ok "$(printf '%-58s caught by %s' "$title" "$by")"
  fi
}

# lane N: its patches, in its copy.
lane() {
  local i mutant mine=()
  passed=0 failed=0
  enter "$1"
  for ((i = $1 - 1; i < ${#todo[@]}; i += lanes)); do mine+=("${todo[i]}"); done
  keep
  clear_the_correct_build "${mine[@]}"
  for mutant in "${mine[@]}"; do
    try_mutant "$mutant"
    restore
  done
  echo "$passed $failed" >"$place/count"
}

kinds=oracle only="" half=""
chosen=()
for word; do
  if [ "$word" = --nightly ]; then kinds="oracle|nightly" && continue; fi
  if [ "$word" = --lua ]; then only=lua/ lanes=$((2 * $(nproc))) && continue; fi
  if [[ $word =~ ^--half=([0-9]+)$ ]]; then half=$((10#${BASH_REMATCH[1]} % 2)) && continue; fi
  if [ "$word" = --sim ]; then mutants=$PWD/tests/sim/mutants && continue; fi
  if [ "$word" = --fits ]; then
    exec python3 -B "$mutation" fits "$mutants"/*.mutant tests/sim/mutants/*.mutant
  fi
  mapfile -t found < <(find "$mutants" -maxdepth 1 -name "$word.mutant" -o \
    -name "${word}[a-z].mutant" | sort)
  [ ${#found[@]} != 0 ] || die "no mutant is called $word"
  chosen+=("${found[@]}")
done
[ ${#chosen[@]} != 0 ] || mapfile -t chosen < <(find "$mutants" -maxdepth 1 -name '*.mutant' | sort)
todo=()
for mutant in "${chosen[@]}"; do
  if waits_for=$(grep '^pending: ' "$mutant"); then
    say "$(printf '%-58s %s' "$(head -n 1 "$mutant")" "$waits_for")"
  elif [ -z "$only" ] || [ -n "$(oracles "$mutant")" ]; then
    todo+=("$mutant")
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
  copy_sources
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
