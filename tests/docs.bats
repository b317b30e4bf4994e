#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: help, man pages, completions and the program say the same.
bats_require_minimum_version 1.5.0

setup() {
  bats_load_library bats-support
  bats_load_library bats-assert
  if [ -e "$BATS_TEST_DIRNAME/helpers.bash" ]; then load helpers; fi
  cd "$BATS_TEST_DIRNAME/.." || return 1
  DLOCK=${DLOCK:-$PWD/build/dev/dlock}
  commands=(run inspect list force-release)
}

# --- what each of them says, one word a line, sorted -------------------------------------------

# Option words of stdin: -w and --wait of "  -w, --wait DUR   text".
option_words() {
  grep -oE -- '(^|[^[:alnum:]_-])(--[a-z][a-z-]*|-[A-Za-z])([^[:alnum:]_-]|$)' |
    grep -oE -- '--?[A-Za-z][a-z-]*' | sort -u
}

# Of the lines that describe an option, the part before the description.
help_options() {
  { "$DLOCK" --help && "$DLOCK" "$1" --help; } | grep -E '^ *-' | sed -E 's/^( *[^ ].*)  .*/\1/' |
    sed 's/,/, /g' | option_words
}

# Tags of the man page below the subsections "Global options" and "Options of $1"; of all
# subsections without an argument.
man_options() {
  sed 's/\\-/-/g; s/\\f[A-Z]//g' man/dlock.1 | awk -v command="$1" '
    /^\.S[HS] / { wanted = options && (command == "" || /Global options|Durations/ ||
                                       $0 == ".SS Options of " command)
                  if (/^\.SH /) { options = /OPTIONS/; wanted = 0 } }
    tag && wanted { gsub(/"/, ""); gsub(/,/, ", "); print }
    { tag = /^\.TP/ }' | option_words
}

man_section() { # of dlock.1, without the escapes
  sed 's/\\-/-/g' man/dlock.1 | awk -v head=".SH $1" '/^\.SH/ { wanted = $0 == head } wanted'
}

bash_completions() { # of the words given, the last one being completed
  bash -c '
    source completions/dlock.bash
    COMP_WORDS=(dlock "$@") COMP_CWORD=$#
    _dlock
    printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | sort -u
}

# shellcheck disable=SC2016  # for fish to expand
fish_completions() { # of a command line
  HOME=$BATS_TEST_TMPDIR fish --no-config -c '
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

needs_program() {
  [ -x "$DLOCK" ] || fail "no program at $DLOCK: build it, or set DLOCK"
}

# --- help, man page, completions ---------------------------------------------------------------

@test "every option of the help is in the man page, and the other way round" {
  needs_program
  for command in "${commands[@]}"; do
    assert_equal "$command: $(help_options "$command" | xargs)" \
      "$command: $(man_options "$command" | xargs)"
  done
}

@test "every command of the help is in the man page" {
  needs_program
  for command in "${commands[@]}"; do
    run -0 "$DLOCK" --help
    assert_line --regexp "^ *$command( |\$)"
    man_section COMMANDS | grep -q "^\.BI \"$command \"" || fail "no $command in COMMANDS"
  done
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
  expected=$(printf '%s\n' "${commands[@]}" | sort | xargs)
  assert_equal "$(bash_completions '' | xargs)" "$expected"
  assert_equal "$(fish_completions 'dlock ' | xargs)" "$expected"
  assert_equal "$(zsh_completions 'dlock ' | sed 's/ *#.*//' | grep . | sort | xargs)" "$expected"
}

@test "after the name of a run the shells complete the child's command and its files" {
  mkdir -p "$BATS_TEST_TMPDIR/folder/inside"
  for words in 'run x' 'run x --' 'run -n --ttl 5s x --' '--url local:///x run -w 3 x'; do
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
  for words in 'run ' 'run --' 'inspect ' 'list ' 'force-release ' '--url '; do
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

# --- the pages themselves ----------------------------------------------------------------------

@test "mandoc and groff find nothing wrong with the man pages" {
  for page in man/*.[1-8]; do
    run -0 mandoc -Tlint -W warning "$page"
    assert_output ""
    run -0 groff -man -ww -z "$page"
    assert_output ""
  done
}

@test "the man pages keep to the macros agreed on" {
  run -0 bash -c "grep -ohE '^\.[A-Za-z]+' man/*.[1-8] | sort -u |
    grep -vxE '\.(TH|SH|SS|PP|TP|B|I|BR|RB|BI|IB|RI|IR|EX|EE)' || true"
  assert_output ""
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
  keys=$(man_section FILES | sed -n '/^The keys are/,/^each means/p' | grep -E '^\.BR? ' |
    grep -oE '[a-z][a-z-]+' | tr 'a-z-' 'A-Z_' | sort -u)
  variables=$(man_section ENVIRONMENT | sed -n '/Read by dlock/,/Given to the child/p' |
    grep -oE 'DLOCK_[A-Z_]+' | grep -vx DLOCK_CONFIG | sed 's/^DLOCK_//' | sort -u)
  assert_equal "$keys" "$variables"
}

@test "every setting but the passwords is an option of that name" {
  while read -r name; do
    option=--$(tr 'A-Z_' 'a-z-' <<<"${name#DLOCK_}")
    man_options "" | grep -qx -- "$option" || fail "$name has no option $option"
  done < <(man_section ENVIRONMENT | sed -n '/Read by dlock/,/Given to the child/p' |
    grep -oE 'DLOCK_[A-Z_]+' | grep -vx DLOCK_PASSWORD)
}

@test "the version is the same everywhere" {
  version=$(sed -nE 's/^project\(dlock VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
  [ -n "$version" ]
  for page in man/*.[1-8]; do
    run -0 grep -c "^\.TH .* \"dlock $version\"" "$page"
  done
  [ ! -e CHANGELOG.md ] || run -0 grep -F "$version" CHANGELOG.md
  needs_program
  run -0 "$DLOCK" --version
  assert_output --regexp "(^| )${version//./\\.}( |\$)"
}

@test "the lease in numbers is the lease that is computed" {
  # D, K and the moments of a lease of 30 s with 10 s of grace, as the rules on the page say.
  run -0 awk 'BEGIN {
    ttl = 30; grace = 10; d = ttl / 100 + 0.01; k = ttl / 100; if (k < 0.1) k = 0.1
    printf "%5.2f s %5.2f s %5.2f s %5.2f s", ttl / 3, ttl - d - k - grace, ttl - d - k, ttl - d
    printf " longest %.2fs", ttl - d - k - ttl / 3 - ttl / 10 }'
  expected=$output
  table=$(man_section GUARANTEES | sed -n '/request is sent/,/lease ends on/p' | sed '1d;$d')
  longest=$(man_section GUARANTEES | grep -A 2 'the longest' | grep -oE '[0-9.]+s')
  assert_equal "$(cut -c 1-7 <<<"$table" | xargs) longest ${longest%.}" "$(xargs <<<"$expected")"
}

@test "the JSON of inspect has the members that the man page shows" {
  needs_program
  man_section JSON | sed -n '/^\.EX/,/^\.EE/p' | grep -v '^\.E' >"$BATS_TEST_TMPDIR/page.json"
  mkdir "$BATS_TEST_TMPDIR/locks"
  run -0 env DLOCK_URL="local://$BATS_TEST_TMPDIR/locks" "$DLOCK" run order-42 -- \
    sh -c "'$DLOCK' inspect --json order-42 >'$BATS_TEST_TMPDIR/program.json'"
  for where in '' '["locks"][0]' '["locks"][0]["owners"][0]' '["locks"][0]["holds"][0]'; do
    members="import json, sys; print(*json.load(open(sys.argv[1]))$where)"
    assert_equal "$(python3 -c "$members" "$BATS_TEST_TMPDIR/program.json")" \
      "$(python3 -c "$members" "$BATS_TEST_TMPDIR/page.json")"
  done
}

# --- guarantees and faults ---------------------------------------------------------------------

@test "dlock-faults(7) says what the table of faults and the names of the tests say" {
  packaging/faults-page.sh >"$BATS_TEST_TMPDIR/page"
  run -0 diff man/dlock-faults.7 "$BATS_TEST_TMPDIR/page" # not current? ./packaging/faults-page.sh >man/dlock-faults.7
  run -0 grep -cE '^\.BR [A-Z][0-9]{2} ' man/dlock-faults.7
  assert_output "$(cat tests/faults/rows/*.txt | grep -cv '^#')"
}

@test "how long two may run after the store forgot is what the limits add up to" {
  # A renewal, its answer, and the grace after a verdict, with ttl 30 s and kill-after 10 s.
  run -0 awk 'BEGIN { ttl = 30; call = ttl / 10; if (call > 5) call = 5; print ttl / 3 + call + 1 }'
  man_section GUARANTEES | grep -q "with the defaults $output s\." || fail "not $output s in the man page"
  grep -q "two run for $output seconds at most" README.md || fail "not $output seconds in README.md"
}

@test "what README.md and ARCHITECTURE.md link to is there" {
  run -0 bash -c "grep -ohE '\]\([^)#:]+\)' README.md ARCHITECTURE.md | tr -d ']()' | sort -u | xargs ls -d"
}

# --- what else names code and tests ------------------------------------------------------------

rules() { sed -n '/^## The rules/,/^## /p' ARCHITECTURE.md; }

@test "the rules of ARCHITECTURE.md name places in the code that are there" {
  assert_equal "$(rules | grep -cE '^[0-9]+\. ')" 11
  assert_equal "$(rules | grep -c '^   - place: ')" 11
  # shellcheck disable=SC2016  # backquotes of Markdown
  places=$(rules | tr -d '\n' | grep -oE '`[A-Za-z_:]+` in +src/[a-z_/.]+[a-z]' | tr -s '` ' ' ')
  assert_equal "$(wc -l <<<"$places")" "$(rules | grep -o 'src/' | wc -l)"
  while read -r word _ file; do
    grep -qE "(^|[^[:alnum:]_])$word([^[:alnum:]_]|\$)" "$file" || fail "no $word in $file"
  done <<<"$places"
}

@test "the rules of ARCHITECTURE.md name tests that are there, at least one each" {
  while read -r line; do
    grep -qxF -- "${line#- test: }" <(all_tests) || fail "no such test: $line"
  done < <(rules | grep -E '^   - test: ')
  assert_equal "$(rules | awk '/^[0-9]+\. / { n++ } /- test:/ { has[n] = 1 } END { print length(has) }')" 11
}

# --- the rows of interop -----------------------------------------------------------------------

# wrong_rows FILE: what is no row, or names a test that does not exist.
wrong_rows() {
  local ids target tests
  tests=$(all_tests)
  while IFS='|' read -r ids target; do
    ids=$(xargs <<<"$ids") target=${target# }
    [[ -n $ids && -n $target ]] || echo "no row: $ids|$target"
    [[ $target =~ ^not:\ .{4} ]] || grep -qxF -- "$target" <<<"$tests" ||
      echo "$ids: no such test: $target"
  done < <(grep -vE '^(#|$)' "$1")
}
@test "what users of Redisson have reported is a test here, or has a reason why not" {
  run -0 wrong_rows tests/interop/rows.txt
  assert_output ""
  run -0 grep -cE '\| interop/' tests/interop/rows.txt
  local edit
  for edit in 's,\| interop/wake: .*,| interop/wake: no such test,' 's,\| not: .*,| not: ,' 's,\|.*,,'; do
    sed -E "$edit" tests/interop/rows.txt | grep -E "wake|slots|^5[0-9]{3}" >"$BATS_TEST_TMPDIR/rows"
    run -0 wrong_rows "$BATS_TEST_TMPDIR/rows"
    refute_output ""
  done
}

# Each suite says for which clients it is, and these are the ones that ./dev interop knows.
@test "every suite of interop has its clients, and a reason for the rest" {
  . tests/interop/run.bash
  for suite in tests/interop/*.bats; do
    run -0 header "$suite" clients
    for client in $output; do [[ " $(clients) " == *" $client "* ]]; done
    [ "$output" = "$(clients)" ] || [ -n "$(header "$suite" others)" ]
  done
}

# --- the protocol page -------------------------------------------------------------------------

@test "the events of the program are the ones of the man page" {
  said=$(grep -oE 'return \{.*, LogLevel|\.name = "[a-z_]+"' cmd/voice.cpp | grep -oE '"[a-z_]+"' |
    tr -d '"' | grep -vx message | sort -u)
  listed=$(man_section "LOG EVENTS" | sed -n '/^waiting /,/^\.EE/p' | grep -oE '^[a-z_]+' | sort -u)
  assert_equal "$said" "$listed"
}

@test "the commands of the scripts are the ones the protocol page allows" {
  in_scripts=$(grep -hoE "redis\.p?call\('[A-Z]+'" src/store/redis/scripts/*.lua |
    grep -oE "'[A-Z]+'" | tr -d "'" | sort -u)
  in_text=$(sed -n '/^\.SH COMMANDS/,/^\.SH ACCESS/p' man/dlock-protocol.7 |
    sed -n '/scripts use/,$p' | grep -oE '\b[A-Z]{3,}\b' | grep -vxE 'ACCESS|RULES' | sort -u)
  assert_equal "$in_scripts" "$in_text"
  allowed=$(sed 's/\\-/-/g' man/dlock-protocol.7 | grep '^ACL SETUSER' | grep -oE '\+[a-z]+' |
    tr -d + | tr '[:lower:]' '[:upper:]' | sort -u)
  assert_equal "$(comm -23 <(echo "$in_scripts") <(echo "$allowed"))" ""
}

@test "the access rules of the protocol page are enough for every script" {
  socket=$BATS_TEST_TMPDIR/redis.sock
  redis-server --port 0 --unixsocket "$socket" --dir "$BATS_TEST_TMPDIR" --save '' \
    >"$BATS_TEST_TMPDIR/redis.log" 2>&1 3>&- &
  echo $! >"$BATS_TEST_TMPDIR/redis.pid"
  for _ in {1..100}; do
    [ "$(redis-cli -s "$socket" PING 2>/dev/null)" != PONG ] || break
    sleep 0.05
  done
  sed -n 's/\\(ti/~/g; s/\\-/-/g; /^ACL SETUSER/p' man/dlock-protocol.7 >"$BATS_TEST_TMPDIR/acl"
  run -0 redis-cli -s "$socket" <"$BATS_TEST_TMPDIR/acl"
  refute_output --partial ERR

  script() { # NAME KEY... , ARG...
    cat src/store/redis/scripts/{holding,line}.lua "src/store/redis/scripts/$1.lua" |
      REDISCLI_AUTH='' redis-cli -s "$socket" --no-auth-warning --user dlock --pass PASSWORD \
        --eval /dev/stdin "${@:2}" 2>&1
  }
  K=dlock:a T="{dlock:a}"
  keys=("dlock:holds:$T" "dlock:revoked:$T") line=("dlock:line:$T" "dlock:waiters:$T")
  channel="redisson_lock__channel:$T" turn="dlock:turn:$T:"
  acquire() { # OWNER SERIAL WAITER [ANCESTOR...]
    script acquire $K "redisson_lock_token:$T" "${keys[@]}" "${line[@]}" , \
      "$1" "$2" 30000 '"host":"h"}' "$3" '' "$turn" "${@:4}"
  }
  run -0 acquire u:1 s ''
  assert_line granted
  run -0 acquire u:2 s2 '' u:1 s
  assert_line nested
  run -0 acquire u:3 s3 '{"id":"u:3#s3"}'
  assert_line busy
  run -0 script renew $K "${keys[@]}" , u:1 s 30000
  assert_line renewed
  run -0 script inspect $K "${keys[@]}" "${line[@]}"
  assert_line hash
  assert_line '{"id":"u:3#s3"}'
  run -0 script revoke $K "${keys[@]}" "${line[@]}" , me 0 '' '' "$channel" "$turn"
  assert_line revoked
  run -0 script release $K "${keys[@]}" "${line[@]}" , u:1 s2 "$channel" "$turn"
  assert_line still_held
  run -0 script leave $K "${line[@]}" , '{"id":"u:3#s3"}' "$turn"
  assert_line left
  run -0 acquire u:4 s4 '{"id":"u:4#s4","polls":true}'
  assert_line busy
  run -0 script release $K "${keys[@]}" "${line[@]}" , u:1 s "$channel" "$turn"
  assert_line released
  assert_line 1

  needs_program
  unset DLOCK_URL DLOCK_PREFIX
  run -0 env DLOCK_URL="redis+unix://dlock:PASSWORD@$socket" "$DLOCK" run a -- true
  run -0 env DLOCK_URL="redis+unix://dlock:PASSWORD@$socket" "$DLOCK" list
}

teardown() {
  if [ -e "$BATS_TEST_TMPDIR/redis.pid" ]; then kill "$(cat "$BATS_TEST_TMPDIR/redis.pid")"; fi
}
