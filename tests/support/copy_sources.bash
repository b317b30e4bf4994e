# SPDX-License-Identifier: MIT
# Sourced by scripts that build a copy of this checkout more than once.
# shellcheck shell=bash

# sums FOLDER: prints the sum and the name of each source of the project that is in FOLDER.
sums() {
  git ls-files -zco --exclude-standard | (cd "$1" && xargs -0 sha256sum 2>/dev/null) | sort || true
}

# copy_sources TREE: makes the sources in TREE those of this checkout, with what is not committed. Only a
# file that differs is written, and gets the present time, so that ninja compiles what differs, and no
# more: with its old time a file that was put back may seem older than what was built of the other one.
# TREE/build and TREE/.git stay.
copy_sources() {
  local tree=$1 file
  mkdir -p "$tree"
  comm -23 <(sums .) <(sums "$tree") | sed 's/^[^ ]* .//' | xargs -rd '\n' cp --parents -t "$tree" 2>/dev/null ||
    while IFS= read -r file; do
      cmp -s "$file" "$tree/$file" || [ ! -e "$file" ] || { echo "$file cannot be copied" >&2 && return 1; }
    done < <(git ls-files -co --exclude-standard) # what is gone was of another suite
  (cd "$tree" && find . \( -path ./build -o -path ./.git \) -prune -o -type f -printf '%P\n') | sort |
    comm -23 - <(git ls-files -co --exclude-standard | sort) | (cd "$tree" && xargs -rd '\n' rm -f)
}
