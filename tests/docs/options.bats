#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: help, man page and program have the same commands, options, statuses and settings.
# shellcheck disable=SC2154  # set by set_up_docs

load ../support/suite
suite docs

setup() { set_up_docs; }

@test "every option of the help is in the man page, and the other way round" {
  for command in "${commands[@]}"; do
    assert_equal "$command: $(help_options "$command" | xargs)" \
      "$command: $(man_options "$command" | xargs)"
  done
}

@test "every command of the help is in the man page, and the other way round" {
  in_page=$(man_section COMMANDS | grep -A 1 '^\.TP' | grep -oE '^\.BI? "?[a-z-]+' |
    grep -oE '[a-z-]+$' | xargs)
  assert_equal "$in_page" "${commands[*]} help version"
}

@test "the exit statuses of the program and of the man page are the same" {
  [ -e cmd/exit_status.hpp ] || fail "no cmd/exit_status.hpp"
  in_code=$(sed -n '/enum class ExitStatus/,/};/p' cmd/exit_status.hpp | sed 's,//.*,,' |
    grep -oE '= *[0-9]+' | tr -d '= ' | sort -n | xargs)
  in_page=$(man_section 'EXIT STATUS' | awk '/^\.TP/ { getline; print $2 }' | sort -n | xargs)
  # 1 is an answer (nothing to release, free), and need not be in the enum.
  assert_equal "$(xargs -n 1 <<<"$in_code" | grep -vx 1 | xargs)" \
    "$(xargs -n 1 <<<"$in_page" | grep -vx 1 | xargs)"
}

@test "the variables of the program and of the man page are the same" {
  # Those written out, and one for each row of the table of settings.
  in_code=$({
    grep -rh DLOCK_ src cmd --include='*.cpp' --include='*.hpp' | sed 's,//.*,,' |
      grep -oE '"DLOCK_[A-Z_]+' | tr -d '"' | grep -vx DLOCK_
    tr -s '\n ' ' ' <cmd/settings.cpp | grep -oE '\{"[a-z-]+", "(-|")' |
      sed -E 's/\{"([a-z-]+)".*/DLOCK_\1/' | tr 'a-z-' 'A-Z_'
  } | sort -u)
  in_page=$(man_section ENVIRONMENT | grep -oE 'DLOCK_[A-Z_]+' | sort -u)
  assert_equal "$in_code" "$in_page"
}

@test "what can be set in a configuration file can be set in the environment" {
  keys=$(man_section KEYS dlock.toml.5 | awk '/^\.TP/ { getline; gsub(/\([^)]*\)/, ""); print }' |
    grep -oE '[a-z][a-z-]+' | tr 'a-z-' 'A-Z_' | sort -u)
  variables=$(man_section ENVIRONMENT | sed -n '/Read by dlock/,/Given to the child/p' |
    grep -oE 'DLOCK_[A-Z_]+' | grep -vx DLOCK_CONFIG | sed 's/^DLOCK_//' | sort -u)
  assert_equal "$keys" "$variables"
}

@test "the options that have no variable are the ones that the man page lists" {
  in_code=$(sed -n '/k_local{/,/^};/p' cmd/command_table.cpp | grep -oE -- '--[a-z-]+", (true|false)' |
    grep -oE -- '--[a-z-]+' | grep -vx -- --config | sort -u)
  [ -n "$in_code" ]
  in_page=$(man_section 'OPTIONS OF ONE CALL' dlock.toml.5 | sed '/^\.B --config/,$d' | option_words)
  assert_equal "$in_page" "$in_code"
}

@test "every setting but the passwords is an option of that name" {
  while read -r name; do
    option=--$(tr 'A-Z_' 'a-z-' <<<"${name#DLOCK_}")
    man_options "" | grep -qx -- "$option" || fail "$name has no option $option"
  done < <(man_section ENVIRONMENT | sed -n '/Read by dlock/,/Given to the child/p' |
    grep -oE 'DLOCK_[A-Z_]+' | grep -vx DLOCK_PASSWORD)
}
