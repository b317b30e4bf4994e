#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks the models with spin: every state of each without an error; and each of the wrong models that
# its header lists (-DNAME) with one. Called by ./dev model, from anywhere.
set -euo pipefail

models=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
passed=0 failed=0

# check WANTED MODEL NAME [DEFINITION…]: searches all states; the number of errors has to be WANTED.
check() {
  local wanted=$1 model=$2 name=$3 said
  shift 3
  said=$({ spin -a "$@" "$model" && cc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=2000 -o pan pan.c &&
    timeout 1800 ./pan -m1000000 -n; } 2>&1) || true
  # A search that was cut short, by memory, depth or time, has shown nothing.
  if grep -q "errors: $wanted\$" <<<"$said" && ! grep -q 'max search depth too small' <<<"$said" &&
    { [ "$wanted" = 1 ] || ! grep -q 'Search not completed' <<<"$said"; }; then
    passed=$((passed + 1))
    echo "ok      $name: $(sed -nE 's/^ *([0-9]+) states, stored.*/\1 states/p' <<<"$said"), errors: $wanted"
    sed -nE 's/^pan:1: /        /p' <<<"$said"
  else
    failed=$((failed + 1))
    printf 'FAILED  %s: errors: %s expected\n%s\n' "$name" "$wanted" "$said"
  fi
}

for model in "$models"/*.pml; do
  kind=$(basename "$model" .pml)
  check 0 "$model" "$kind"
  while read -r wrong; do
    check 1 "$model" "$kind $wrong" "-D$wrong"
  done < <(sed -nE 's/^ \*   -D([A-Z_]+) .*/\1/p' "$model")
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
