#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shows that the simulation sees a world that breaks its part of the bargain: 1000 seeds have to find
# each. Called by ./dev sim controls, in the root of the project: controls.bash PROGRAM
set -euo pipefail

passed=0 failed=0
for control in no-guard wild-rates forgetful replay-keeps-lease turns-not-passed-on \
  second-is-called readers-pass reader-beside-writer one-slot-more one-slot-for-all \
  some-of-the-names two-of-one unacknowledged nothing-is-kept no-success-remembered; do
  if said=$("$1" 1 1000 --find --only seeds --control "$control"); then
    passed=$((passed + 1)) && sed -E "s/^ +/ok      $control: /" <<<"$said"
  else
    failed=$((failed + 1)) && echo "FAILED  $control: nothing was found" && echo "$said"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
