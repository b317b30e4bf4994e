#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: each shell completes what the man page has, and never asks a store.
# shellcheck disable=SC2154  # set by set_up_docs

load ../support/suite
suite docs

setup() { set_up_docs; }

bash_completions() { # of the words given, the last one being completed
  bash -c '
    source completions/dlock.bash
    COMP_WORDS=(dlock "$@") COMP_CWORD=$#
    _dlock
    printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | sort -u
}

# shellcheck disable=SC2016  # for fish to expand
fish_completions() { # of a command line
  HOME=$BATS_TEST_TMPDIR XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config fish --no-config -c '
    source completions/dlock.fish
    complete -C $argv[1]' "$1" | cut -f 1 | sort -u
}

zsh_completions() { # of a command line, as a person at a terminal would see them
  cat >"$BATS_TEST_TMPDIR/complete.zsh" <<'ZSH'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=($PWD/completions \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w shell "zstyle ':completion:*' list-separator '#'; stty cols 200 rows 500; LISTMAX=9999"
zpty -w shell "say() { print; print LIS''TED }; zle -N say; bindkey '^I' list-choices '^X' say"
zpty -w shell "setopt NO_LIST_BEEP; print RE''ADY"
while zpty -r shell line && [[ $line != *READY* ]]; do :; done
zpty -n -w shell "$1"$'\t\x18'
while zpty -r shell line && [[ $line != *LISTED* ]]; do print -r -- "${line//$'\r'/}"; done
zpty -d shell
ZSH
  HOME=$BATS_TEST_TMPDIR TERM=xterm timeout 20 zsh -f "$BATS_TEST_TMPDIR/complete.zsh" "$1" |
    sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' | tail -n +2
}

@test "the files are what ./dev completions writes" {
  cp -r completions "$BATS_TEST_TMPDIR/written"
  python3 -B packaging/completions.py "$DLOCK" "$BATS_TEST_TMPDIR/written"
  run -0 diff -r completions "$BATS_TEST_TMPDIR/written"
}

@test "bash completes the options of every command, and no others" {
  for command in "${commands[@]}"; do
    assert_equal "$command: $(bash_completions "$command" - | xargs)" \
      "$command: $(man_options "$command" | xargs)"
  done
}

@test "fish completes the options of every command, and no others" {
  for command in "${commands[@]}"; do
    assert_equal "$command: $(fish_completions "dlock $command -" | xargs)" \
      "$command: $(man_options "$command" | xargs)"
  done
}

@test "zsh completes the options of every command, and no others" {
  for command in "${commands[@]}"; do
    offered=$(zsh_completions "dlock $command -" | sed 's/#.*//' | option_words | xargs)
    assert_equal "$command: $offered" \
      "$command: $(man_options "$command" | xargs)"
  done
}

@test "the shells complete the commands" {
  expected=$(printf '%s\n' "${commands[@]}" help version | sort | xargs)
  assert_equal "$(bash_completions '' | xargs)" "$expected"
  assert_equal "$(fish_completions 'dlock ' | xargs)" "$expected"
  assert_equal "$(zsh_completions 'dlock ' | sed 's/ *#.*//' | grep . | sort | xargs)" "$expected"
}

@test "after the name of a run the shells complete the child's command and its files" {
  mkdir -p "$BATS_TEST_TMPDIR/folder/inside"
  for words in 'run x' 'run x --' 'run -n --ttl 5s x --' '--url local:///x run -w 3 x' \
    'run -s --and y --and=z x --' 'run --slots 3 --min-hold 4s --and y x' 'run -n -- x' 'run -- -x --'; do
    # shellcheck disable=SC2086  # split on purpose
    run -0 bash_completions $words truncat
    assert_line truncate
    # shellcheck disable=SC2086
    run -0 bash_completions $words ls "$BATS_TEST_TMPDIR/folder/in"
    assert_line "$BATS_TEST_TMPDIR/folder/inside"
    run -0 fish_completions "dlock $words truncat"
    assert_line truncate
    run -0 fish_completions "dlock $words ls $BATS_TEST_TMPDIR/folder/in"
    assert_line "$BATS_TEST_TMPDIR/folder/inside/"
    run -0 zsh_completions "dlock $words truncat"
    assert_output --partial truncate
    run -0 zsh_completions "dlock $words ls $BATS_TEST_TMPDIR/folder/in"
    assert_output --partial inside
  done
}

@test "the child's options are not taken for dlock's" {
  run -0 bash_completions run x ls --tt
  refute_output --partial --ttl
  run -0 fish_completions 'dlock run x ls --tt'
  refute_output --partial --ttl
  run -0 zsh_completions 'dlock run x ls --tt'
  refute_output --partial -- '--ttl'
}

@test "values are completed where they are words" {
  assert_equal "$(bash_completions run --on-lost '' | xargs)" "stop warn"
  assert_equal "$(bash_completions run --on-lost = w | xargs)" "warn"
  assert_equal "$(fish_completions 'dlock run --on-lost ' | xargs)" "stop warn"
  run -0 zsh_completions 'dlock run --on-lost '
  assert_output --regexp 'stop +warn'
}

@test "no completion runs dlock" {
  mkdir "$BATS_TEST_TMPDIR/bin"
  printf '#!/bin/sh\ntouch "%s/ran"\n' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/bin/dlock"
  chmod +x "$BATS_TEST_TMPDIR/bin/dlock"
  PATH=$BATS_TEST_TMPDIR/bin:$PATH
  for words in 'run ' 'run --' 'acquire ' 'renew ' 'release ' 'wait ' 'inspect ' 'list ' \
    'force-release ' '--url '; do
    # shellcheck disable=SC2086
    bash_completions ${words% } "" >/dev/null
    fish_completions "dlock $words" >/dev/null
    zsh_completions "dlock $words" >/dev/null
  done
  [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

@test "the completion files parse" {
  run -0 bash -n completions/dlock.bash
  run -0 zsh -n completions/_dlock
  run -0 fish --no-config --no-execute completions/dlock.fish
  run -0 shellcheck -s bash completions/dlock.bash
}

@test "what is typed is completed, never executed" {
  local word
  for word in "\$(touch $BATS_TEST_TMPDIR/ran)" "\`touch $BATS_TEST_TMPDIR/ran\`" ";touch $BATS_TEST_TMPDIR/ran;" \
    "a[\$(touch $BATS_TEST_TMPDIR/ran)]" "--url=\$(touch $BATS_TEST_TMPDIR/ran)" "'\"\\"; do
    bash_completions run "$word" >/dev/null
    bash_completions run --mode "$word" >/dev/null
    bash_completions "$word" '' >/dev/null
    fish_completions "dlock run '$word" >/dev/null
    fish_completions "dlock $(printf %q "$word") " >/dev/null
    [[ $word != "\$("* ]] || zsh_completions "dlock run '$word' " >/dev/null
  done
  [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}
