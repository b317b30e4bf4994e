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
python3 -B "$root/tests/mutants/mutation.py" apply "$root/tests/mutants" V10 V17
./dev build asan dlock
for protocol in etcd postgres mysql; do
  # What a value that is not there brings. A finding of another kind, as of a slow machine, is none.
  said=$(python3 -B "$root/tests/fuzz/conversations/main.py" 600 "$protocol" \
    --until '^status (-6|125)|said "(internal error|terminate called|Assertion)"' \
    --dlock "$tree/build/asan/dlock" 2>&1) || true
  if found=$(grep -m 1 "^$protocol: found after " <<<"$said"); then
    passed=$((passed + 1))
    echo "red: $found"
  else
    failed=$((failed + 1))
    echo "NOT RED in 600 s: $protocol" && tail -n 20 <<<"$said"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
