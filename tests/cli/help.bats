#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the help is complete, fits the screen, and needs no settings; an answer that cannot be
# written is a failure.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2086
load ../support/suite
suite server cli

# column_of TEXT: how many characters stand before it in its line of the help.
column_of() {
  local LC_ALL=C.UTF-8 line
  line=$("$DLOCK" --help | grep -F "$1")
  line=${line%%"$1"*}
  echo "${#line}"
}

@test "every help fits 80 columns of ASCII, and has the store, the units and an example" {
  for words in '' run acquire renew release wait inspect list forget force-release; do
    # shellcheck disable=SC2086  # none or one
    run -0 "$DLOCK" help $words
    refute_line --regexp '^.{81}'
    refute_line --regexp '[^ -~]'
    for text in redis://127.0.0.1:6379 DLOCK_URL 250ms "dlock ${words:-run}"; do
      assert_output --partial "$text"
    done
  done
}

# statuses COMMAND: the exit statuses that its help has.
statuses() { "$DLOCK" help "$1" | sed -nE '/^exit status/,/^$/s/^  ([0-9]+) +.*/\1/p' | xargs; }

@test "the help of a command has the exit statuses of that command, and no others" {
  local taken=64\ 69\ 75\ 77\ 78
  assert_equal "$("$DLOCK" --help | sed -nE '/^exit status of run/,/^$/s/^  ([0-9]+) +.*/\1/p' | xargs)" "$(statuses run)"
  assert_equal "$(statuses run)" "$taken 79 124 125 126 127"
  assert_equal "$(statuses acquire)" "0 $taken 125"
  assert_equal "$(statuses renew)" "0 64 69 77 78 79 125"
  assert_equal "$(statuses wait)" "0 $taken 125"
  assert_equal "$(statuses config)" "0 64 78 125"
  for command in release force-release; do assert_equal "$(statuses "$command")" "0 1 $taken 125"; done
  for command in inspect forget doctor; do assert_equal "$(statuses "$command")" "0 1 64 69 77 78 125"; done
  assert_equal "$(statuses list)" "0 64 69 77 78 125"
}

@test "an option that means something else in one command is described so in the help of that command" {
  local count
  for words in inspect\ NAME doctor\ answer; do
    # shellcheck disable=SC2086  # the command, and a word of its text
    set -- $words
    run -0 "$DLOCK" help "$1"
    assert_output --regexp "-q, --quiet +print nothing: [^-]*$2"
    count=$(grep -c -- '--quiet' <<<"$output")
    assert_equal "$1 $count" "$1 1"
  done
  run -0 "$DLOCK" help renew
  assert_output --regexp '--ttl DUR +the lease from now on \(default: that of acquire'
  refute_output --partial 30s
}

@test "a usage error points to the help, and guesses what was meant" {
  run -64 --separate-stderr "$DLOCK" rnu x -- true
  assert_stderr_has 'there is no command "rnu"; did you mean run?; see dlock --help'
  run -64 --separate-stderr "$DLOCK" run --wiat 3s x -- true
  assert_stderr_has 'there is no option "--wiat"; did you mean --wait?; see dlock run --help'
  run -64 --separate-stderr "$DLOCK" run --ttl 3s --kill-after 5s x -- true
  assert_stderr_has '; see dlock run --help'
  run -64 --separate-stderr "$DLOCK" help nothing
  assert_stderr_has 'there is no command "nothing"; there are run, '
}

@test "with --log-format json a usage or configuration error is a JSON line with its exit status" {
  # shellcheck disable=SC2154  # stderr is set by run
  code() { python3 -c 'import json, sys; print(json.loads(sys.argv[1])["code"])' "$stderr"; }
  run -64 --separate-stderr "$DLOCK" --log-format json run --ttl l -- true
  assert_equal "$(code)" 64
  run -64 --separate-stderr "$DLOCK" run --log-format=json --bogus x -- true
  assert_equal "$(code)" 64
  DLOCK_LOG_FORMAT=json DLOCK_TTL=soon run -78 --separate-stderr "$DLOCK" run x -- true
  assert_equal "$(code)" 78
}

@test "a help or version that cannot be written ends with 125 and says so" {
  for words in --help --version 'help run' version; do
    # shellcheck disable=SC2086  # one word or two
    run -125 bash -c "exec \"\$DLOCK\" $words >/dev/full"
    assert_output 'dlock: cannot write the answer: no space left on device'
  done
}

@test "--help and --version print on stdout and end with 0" {
  run -0 --separate-stderr "$DLOCK" --help
  assert_no_stderr
  local all=(run acquire renew release wait inspect list forget force-release)
  for command in "${all[@]}"; do assert_output --partial "$command"; done
  assert_equal "$(column_of 'wait until NAME')" 30
  assert_equal "$(column_of 'take the lock NAME')" 30
  for command in "${all[@]}"; do
    run -0 --separate-stderr "$DLOCK" "$command" --help
    assert_no_stderr
    assert_output --partial "usage: dlock $command"
    assert_equal "$("$DLOCK" help "$command")" "$output"
  done
  assert_equal "$("$DLOCK" help)" "$("$DLOCK" --help)"
  assert_equal "$("$DLOCK" version)" "$("$DLOCK" --version)"
  for option in --version -V; do
    run -0 --separate-stderr "$DLOCK" "$option"
    assert_no_stderr
    assert_output --regexp '^dlock [0-9]+\.[0-9]+'
  done
  # Behind the name they are the command's.
  run -0 "$DLOCK" run "$(fresh)" printf '<%s>' --help
  assert_output '<--help>'
}

@test "-h fits a terminal of 24 lines and 80 columns, and leads to all of the help" {
  local words
  for words in '' run acquire renew release wait inspect list forget force-release doctor config; do
    # shellcheck disable=SC2086  # none or one
    run -0 --separate-stderr "$DLOCK" $words -h
    assert_no_stderr
    [ "${#lines[@]}" -gt 4 ]
    [ "$(wc -l <<<"$output")" -le 23 ] || fail "dlock $words -h: $(wc -l <<<"$output") lines"
    refute_line --regexp '^.{81}'
    refute_line --regexp '[^ -~]'
    for text in DLOCK_URL "dlock ${words:-run}" --help 'man dlock'; do assert_output --partial "$text"; done
    # Its options are those of --help, in the same words.
    while IFS= read -r line; do
      "$DLOCK" help $words | grep -qxF -- "$line" || fail "not in the help of $words: $line"
    done < <(grep -E '^  -' <<<"$output")
  done
  run -0 "$DLOCK" run -h
  assert_line 'some options (all: dlock run --help):'
  for option in --nonblock --wait --slots --ttl --once-per; do assert_output --partial -- "$option"; done
  refute_output --partial -- --result-file
}

@test "help needs no settings that make sense, and no store" {
  DLOCK_TTL=soon DLOCK_URL=nonsense run -0 "$DLOCK" --help
  DLOCK_TTL=soon DLOCK_URL=nonsense run -0 "$DLOCK" run --help
  DLOCK_TTL=soon DLOCK_URL=nonsense run -0 "$DLOCK" run -h
}

@test "every option in the help is taken" {
  local command option count=0
  for command in run acquire renew release wait inspect list forget force-release; do
    while read -r option; do
      count=$((count + 1))
      run --separate-stderr "$DLOCK" "$command" "$option=" "$option"
      refute_stderr_has 'no option'
    done < <("$DLOCK" "$command" --help | grep -oE '^  (-[^ ]+, )*--[a-z-]+' | grep -oE -- '--[a-z-]+$')
  done
  [ "$count" -gt 80 ]
}

@test "P16: an answer that cannot be written is a failure" {
  for words in --help --version 'run --help' 'inspect x' 'inspect --json x' 'list --json'; do
    # shellcheck disable=SC2086  # several words
    rc=0
    "$DLOCK" $words >/dev/full 2>"$BATS_TEST_TMPDIR/err" || rc=$?
    [ "$rc" != 0 ] || fail "dlock $words >/dev/full ended with 0"
    rc=0
    # shellcheck disable=SC2086
    "$DLOCK" $words >&- 2>"$BATS_TEST_TMPDIR/err" || rc=$?
    [ "$rc" -ge 64 ] || [ "$rc" = 0 ] || fail "dlock $words >&- ended with $rc"
  done
}
