#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Positive controls: two checks of what a server sent are taken out of a copy of the code, as mutants
# do, and the fuzz of conversations has to find each within ten minutes: in etcd a transaction whose
# parts are read whether or not they are there, in SQL an answer without the clock.
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../../.."
root=$PWD tree=$PWD/build/fuzz-controls passed=0 failed=0

mkdir -p "$tree"
git ls-files -zco --exclude-standard | rsync -a --from0 --files-from=- . "$tree"
cd "$tree"
for mutant in V10 V17; do
  python3 -B "$root/tests/mutants/mutation.py" apply "$root/tests/mutants/$mutant.mutant"
done
./dev build asan dlock
for protocol in etcd postgres mysql; do
  said=$(python3 -B "$root/tests/fuzz/conversations/main.py" 600 "$protocol" --until-found \
    --dlock "$tree/build/asan/dlock" 2>&1) || true
  # Not that of the conversations as they are: it has no time.
  if grep -qE '^FOUND .*(status -6|status 125)' <<<"$said" && grep -qE '^  the [0-9]+th, after ' <<<"$said"; then
    passed=$((passed + 1))
    echo "red: $(grep -m 1 '^FOUND ' <<<"$said")$(grep -m 1 -E '^  the [0-9]+th' <<<"$said" | sed 's/^ */, /')"
    grep -m 1 -E 'Assertion|internal error' <<<"$said" || true
  else
    failed=$((failed + 1))
    echo "NOT RED: $protocol" && tail -n 20 <<<"$said"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
