#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shows that the simulation sees mistakes: each patch of mutants/ puts one into a copy of the core,
# each control makes the world break its part of the bargain, and 1000 seeds have to find it. Called
# by ./dev sim mutants, in the root of the project: mutants.bash PRESET
set -euo pipefail

preset=$1 programs=build/$1/tests passed=0 failed=0

# found NAME COMMAND…: that COMMAND finds a violation, and which.
found() {
  local said
  if said=$("${@:2}"); then
    passed=$((passed + 1)) && sed -E "s/^ +/ok      $1: /" <<<"$said"
  else
    failed=$((failed + 1)) && echo "FAILED  $1: nothing was found" && echo "$said"
  fi
}

./dev build "$preset" sim_mutants
./dev build "$preset" dlock_sim
for patch in tests/sim/mutants/*.patch; do
  name=$(basename "$patch" .patch)
  grep -q '^By steps alone' "$patch" ||
    found "$name" "$programs/dlock_sim_$name" 1 1000 --find --only seeds
  grep -q '^By seeds alone' "$patch" ||
    found "$name" "$programs/dlock_sim_$name" --find --only exhaustive
done
for control in no-guard wild-rates forgetful replay-keeps-lease turns-not-passed-on \
  second-is-called readers-pass reader-beside-writer one-slot-more one-slot-for-all \
  some-of-the-names nothing-is-kept no-success-remembered; do
  found "$control" "$programs/dlock_sim" 1 1000 --find --only seeds --control "$control"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
