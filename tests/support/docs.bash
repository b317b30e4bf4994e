# SPDX-License-Identifier: MIT
# Shared by tests/docs: what the help and the man page of dlock(1) say, one word a line, sorted.
# shellcheck shell=bash disable=SC2034  # the suites read commands

set_up_docs() {
  load_assertions
  cd "$PROJECT" || return 1
  [ -x "$DLOCK" ] || fail "no program at $DLOCK: build it, or set DLOCK"
  # The commands that the help lists, but not help and version, which have no options of their own.
  mapfile -t commands < <("$DLOCK" --help | sed -n '/^commands:/,/^$/p' | grep -oE '^  [a-z-]+' |
    tr -d ' ' | grep -vxE 'help|version')
  [ ${#commands[@]} -gt 10 ] || fail "the help has only the commands ${commands[*]}"
}

# Prints the option words in the text on stdin: -w and --wait for "  -w, --wait DUR   text".
option_words() {
  grep -oE -- '(^|[^[:alnum:]_-])(--[a-z][a-z-]*|-[A-Za-z0-9])([^[:alnum:]_-]|$)' |
    grep -oE -- '--?[A-Za-z0-9][a-z-]*' | sort -u
}

# help_options COMMAND: prints the options that the help of dlock and the help of COMMAND describe.
help_options() {
  { "$DLOCK" --help && "$DLOCK" "$1" --help; } | grep -E '^ *-' | sed -E 's/^( *[^ ].*)  .*/\1/' |
    sed 's/,/, /g' | option_words
}

# Prints the tags of the man page in the subsections "Global options" and "Options of $1"; without
# an argument, in all subsections.
man_options() {
  sed 's/\\-/-/g; s/\\f[A-Z]//g' man/dlock.1 | awk -v command="$1" '
    /^\.S[HS] / { wanted = options && (command == "" || /Global options|Durations/ ||
                                       (/^\.SS Options of / && index($0 " ", " " command " ")))
                  if (/^\.SH /) { options = /OPTIONS/; wanted = 0 } }
    tag && wanted { gsub(/"/, ""); gsub(/,/, ", "); print }
    { tag = /^\.TP/ }' | option_words
}

# man_section SECTION [PAGE]: prints the section of man/PAGE, by default dlock.1, without the escapes.
man_section() {
  sed 's/\\-/-/g' "$PROJECT/man/${2:-dlock.1}" |
    awk -v head=".SH $1" '/^\.SH/ { wanted = $0 == head } wanted'
}

# example SECTION TEXT [PAGE]: prints the example in SECTION that has TEXT, as the reader sees it.
example() {
  man_section "$1" "${3:-dlock.1}" |
    sed "s/\\\\(aq/'/g; s/\\\\(ti/~/g; s/\\\\e/\\\\/g; s/\\\\&//g" | awk -v text="$2" '
    /^\.EX/ { inside = 1; block = ""; next }
    /^\.EE/ { inside = 0; if (index(block, text)) { printf "%s", block; exit } }
    inside { block = block $0 "\n" }'
}

# Makes a store for this test in its folder, and a program "dlock" in PATH, which is the tested one.
own_store() {
  clean_environment
  cd "$BATS_TEST_TMPDIR" || return 1
  mkdir -p locks bin
  ln -sf "$(realpath "$DLOCK")" bin/dlock
  export PATH=$PWD/bin:$PATH DLOCK_URL=local://$PWD/locks
}
