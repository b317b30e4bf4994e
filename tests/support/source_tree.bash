# SPDX-License-Identifier: MIT
# Loaded by tests/tidy.bats: the files of a source tree, and samples that break a rule. A rule is a
# function that prints what breaks it in a TREE. The tree has hundreds of files, and a process for
# each of them would take minutes, so that a rule reads all its files with a few processes.
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

# of_files TREE COMMAND…: runs COMMAND in TREE with the files of stdin as its last arguments; not at
# all without a file. That grep finds nothing is no mistake.
of_files() { (cd "$1" && xargs -r -d '\n' "${@:2}") || true; }
# lines TREE REGEX: of the files of stdin, the lines with REGEX, each as FILE:LINE:TEXT.
lines() { of_files "$1" grep -aHnE "$2"; }
# code TREE FOLDER…: prints the lines of the C++ files in these folders as FILE:LINE:TEXT, without
# comments and without the contents of strings.
code() { sources "$@" | lines "$1" '' | sed -E -e 's/"([^"\\]|\\.)*"/""/g' -e 's,//.*,,'; }
# in_text REGEX: of lines FILE:LINE:TEXT, those with REGEX in TEXT, or in it and the colon before it.
in_text() { grep -aE "^[^:]*:[0-9]+.*($1)" || true; }
# includes TREE FOLDER…: prints what the C++ files in these folders include, with its quotes or
# brackets, as FILE: INCLUDED.
includes() {
  sources "$@" | of_files "$1" grep -aHE '^#include ["<]' |
    sed -nE 's/^([^:]*):#include (["<].*[">]).*/\1: \2/p'
}

# to_compile TREE FOLDER…: prints the headers in these folders that have to be compiled alone here. Not those
# that the source of their name includes before all else: each build that takes every file for itself
# does so. What a header includes before all else is compiled alone with it.
# shellcheck disable=SC2016  # of awk
to_compile() {
  sources "$@" | of_files "$1" awk '
    FNR == 1 { open = 1 }
    !open || /^[ \t]*(\/\/.*)?$/ || /^#pragma once$/ { next }
    { open = 0 }
    /^#include "/ { split($0, part, "\""); first[FILENAME] = (part[2] ~ /^cmd\// ? "" : "src/") part[2] }
    END {
      for (i = 1; i < ARGC; ++i) {
        name = ARGV[i]
        if (sub(/\.cpp$/, ".hpp", name) && first[ARGV[i]] == name) done[name] = 1
        if (ARGV[i] ~ /\.hpp$/) headers[++n] = ARGV[i]
      }
      for (i = 1; i <= n; ++i)
        if (!(headers[i] in done))
          for (at = headers[i]; at in first && first[at] != headers[i] && !(first[at] in done); at = first[at])
            done[first[at]] = 1
      for (i = 1; i <= n; ++i) if (!(headers[i] in done)) print headers[i]
    }'
}

# user_texts TREE: what users read, each file as one line FILE: TEXT, as a sentence may be broken over two
# lines. Of C++ these are the string literals, without those in comments; of CHANGELOG.md what came after
# 0.1.0.
user_texts() {
  {
    sources "$1" src cmd | of_files "$1" grep -aH '"'
    (cd "$1" && find README.md CHANGELOG.md man completions packaging/examples packaging/release/built.py -type f 2>/dev/null) |
      sort | of_files "$1" grep -aH ''
  } | awk '
    { file = $0; sub(/:.*/, "", file); text = substr($0, length(file) + 2) }
    file == "CHANGELOG.md" {
      if (text ~ /^## \[0\.1\.0\]/) old = 1
      if (old) next
    }
    file ~ /\.[ch]pp$/ {
      if (match(text, /^([^"\/]|"([^"\\]|\\.)*"|\/[^\/"])*\/\//)) text = substr(text, 1, RLENGTH - 2)
      rest = text; text = ""
      for (; match(rest, /"([^"\\]|\\.)*"/); rest = substr(rest, RSTART + RLENGTH))
        text = text substr(rest, RSTART, RLENGTH)
    }
    file != last { printf "%s%s: ", last == "" ? "" : "\n", last = file }
    { gsub(/"/, " ", text); printf " %s ", text }
    END { print "" }' | tr -s ' '
}

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
