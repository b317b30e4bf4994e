# SPDX-License-Identifier: MIT
# Loaded by tests/tidy.bats: the files of a source tree, and samples that break a rule. A rule is a
# function that prints what breaks it in a TREE.
# shellcheck shell=bash

# files TREE NAME…: prints the files in TREE with these names (patterns of find).
files() {
  local tree=$1 name names=()
  shift
  for name; do names+=(${names:+-o} -name "$name"); done
  (cd "$tree" && find . \( -path ./build -o -path ./.git \) -prune -o \( "${names[@]}" \) -print | sed 's,^./,,' | sort)
}
# sources TREE FOLDER…: prints the C++ files in these folders.
sources() {
  local tree=$1 folder
  shift
  for folder in "$@"; do
    [ -d "$tree/$folder" ] || continue
    (cd "$tree" && find "$folder" -name '*.cpp' -o -path "$folder*" -name '*.hpp' | sort)
  done
}

# code FILE: prints its lines without comments and without the contents of strings, with line
# numbers.
code() {
  sed -E -e 's/"([^"\\]|\\.)*"/""/g' -e 's,//.*,,' "$1" | grep -n '' || true
}
# includes FILE: prints the files that it includes, with their quotes or brackets.
includes() { sed -nE 's/^#include (["<].*[">]).*/\1/p' "$1"; }

# bad FILE TEXT…: makes a sample tree with one file.
bad() {
  rm -rf "$BAD"
  mkdir -p "$BAD/$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$BAD/$1"
}
# holds RULE: checks that nothing in our tree breaks the rule.
holds() {
  run -0 "$1" "$PROJECT"
  assert_output ""
}
# fails RULE: checks that the sample breaks the rule.
fails() {
  run -0 "$1" "$BAD"
  refute_output ""
}
