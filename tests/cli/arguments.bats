#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: what the command line means is clear, and what is not clear is refused with a better one.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2086
load ../support/suite
suite server cli

# refused WORD…: dlock WORD… ends with 64, one line, and nothing done.
refused() {
  run -64 --separate-stderr "$DLOCK" "$@"
  assert_output ""
  assert_one_line
  assert_not_started
}

@test "options stop at NAME, and -- may be left out" {
  run -0 "$DLOCK" run -n --ttl 5s "$(fresh)" echo a b
  assert_output "a b"
  run -0 "$DLOCK" run "$(fresh)" echo -n --ttl 5s
  assert_output --partial "--ttl 5s"
  run -0 "$DLOCK" run --ttl=5s "$(fresh)" -- echo a b
  assert_output "a b"
}

@test "an option behind NAME is refused with the corrected line" {
  refused run job -w 5 -- touch "$MARKER"
  assert_stderr_has 'dlock run -w'
  assert_stderr_has 'job -- '
  refused run job -n touch "$MARKER"
  assert_stderr_has 'dlock run -n'
}

@test "the first operand is the only name: a -- inside the command is the command's" {
  run -0 "$DLOCK" run deploy sh -c 'echo "$@"; "$DLOCK" list | wc -l; echo "$DLOCK_NAME"
    "$DLOCK" inspect -q -- sh -c x rm || echo free' x -- rm -rf data
  assert_output $'-- rm -rf data\n1\ndeploy\nfree'
  run -0 "$DLOCK" run deploy -- printf '%s ' -- a -- b
  assert_output '-- a -- b '
  assert_no_keys
}

@test "--and takes a further lock, and a name that is said twice counts once" {
  run -0 "$DLOCK" run --and b --and "$(fresh)" "$(fresh)" sh -c 'echo "$DLOCK_NAME"
    redis-cli -s "$REDIS_SOCKET" exists "dlock:$1" dlock:b; redis-cli -s "$REDIS_SOCKET" hvals "dlock:$1"' - "$(fresh)"
  assert_output "$(fresh) b"$'\n2\n1'
  assert_no_keys
  run -0 "$DLOCK" run --and=b -c 'echo "$DLOCK_NAME"' "$(fresh)"
  assert_output "$(fresh) b"
  refused run --and '' a -- touch "$MARKER"
  refused run --and b -- touch
  assert_stderr_has "dlock run touch -- CMD"
}

@test "a name that begins with - is locked behind a --" {
  for name in -n -c --help -- --ttl; do
    run -0 "$DLOCK" run -- "$name" -- sh -c 'printf "%s\n" "$DLOCK_NAME"
      redis-cli -s "$REDIS_SOCKET" exists "dlock:$DLOCK_NAME"'
    assert_output "$name"$'\n1'
    run -0 "$DLOCK" run -- "$name" echo -n "<$name>"
    assert_output "<$name>"
    run -0 "$DLOCK" acquire -- "$name"
    eval "$output"
    run -0 "$DLOCK" inspect -q -- "$name"
    run -0 "$DLOCK" release -- "$name"
  done
  assert_no_keys
}

@test "acquire and the like run no command: a -- behind a name with words behind it is refused" {
  for command in acquire renew release inspect wait; do
    refused "$command" deploy -- touch "$MARKER"
    assert_stderr_has "$command runs no command; use dlock run"
  done
  assert_no_keys
  run -1 "$DLOCK" inspect -q deploy --
}

@test "a command that is not found is told apart from a line for the shell and a file" {
  run -127 "$DLOCK" run "$(fresh)" -- no-such-command x
  assert_output 'dlock: cannot execute "no-such-command": command not found'
  run -127 "$DLOCK" run "$(fresh)" ./no-such-file
  assert_output 'dlock: cannot execute "./no-such-file": no such file or directory'
  run -127 "$DLOCK" run "$(fresh)" 'true | false'
  assert_output --partial 'dlock run -c STRING NAME'
}

@test "the value of an unknown option is neither shown nor taken for a command" {
  refused --pass s3cret run x
  assert_stderr_has 'there is no option "--pass"'
  refute_stderr_has s3cret
  refused run --pass=s3cret x true
  refute_stderr_has s3cret
  refused --ttl 5s run x -- touch "$MARKER"
  assert_stderr_has '"--ttl" is an option of run, acquire, renew and doctor; write it after the command'
}

@test "a second --url makes a quorum, wherever the first stood; two servers are none" {
  run -78 --separate-stderr "$DLOCK" --url redis://a run --url redis://b x -- touch "$MARKER"
  assert_stderr_has '2 URLs are given'
  assert_not_started
}

@test "what is missing is said: the name, the command" {
  refused run
  assert_stderr_has NAME
  refused run --
  assert_stderr_has NAME
  refused run -n -w
  refused run job
  assert_stderr_has "dlock run job -- CMD"
  refused run job --
  assert_stderr_has "dlock run job -- CMD"
  refused run --ttl job -- true # the option has swallowed the name
  assert_stderr_has '--ttl: cannot read duration "job"'
  for command in inspect force-release acquire renew release wait; do refused "$command"; done
  refused force-release a b --yes
  refused list a b
}

@test "no command at all prints the short help on stderr and ends with 64" {
  run -64 --separate-stderr "$DLOCK"
  assert_output ""
  # shellcheck disable=SC2154  # set by run
  assert_equal "$stderr" "$("$DLOCK" -h)"
  assert_stderr_has usage
}

@test "a command or an option that does not exist is refused and named" {
  refused lock x -- touch "$MARKER"
  assert_stderr_has '"lock"'
  refused run --bogus x -- touch "$MARKER"
  assert_stderr_has '--bogus'
  refused run -Z x -- touch "$MARKER"
  assert_stderr_has Z
  refused --bogus run x -- touch "$MARKER"
  refused inspect --bogus x
  refused inspect --yes x
  refused list --now
  refused run --json x -- touch "$MARKER"
  refused run --bogus=$'\e[31m' x -- touch "$MARKER"
  refute_stderr_has $'\e'
}

@test "an abbreviated option is no option" {
  refused run --nonb x -- touch "$MARKER"
  refused run --tt 5s x -- touch "$MARKER"
}

@test "an option without its value is refused" {
  refused run --ttl
  refused run -w
  refused run --reason
  refused --url
}

@test "contradictory options are refused" {
  refused run -n -w 5 job -- touch "$MARKER"
  refused run -w 5 -n job -- touch "$MARKER"
  refused run -c true job -- touch "$MARKER"
  refused run -c true job touch "$MARKER"
  refused run -c true job another
  assert_stderr_has 'write --and NAME'
  refused run -q -v job -- touch "$MARKER"
  refused -q run -v job -- touch "$MARKER"
  refused run -s -x job -- touch "$MARKER"
  refused run -x --slots 3 job -- touch "$MARKER"
  refused run --slots=3 --shared job -- touch "$MARKER"
  refused acquire -s --exclusive job
  refused wait -n -w 5 job
  refused run --min-hold 10s --max-hold 5s job -- touch "$MARKER"
  assert_stderr_has 'min-hold 10s is longer than max-hold 5s'
}

@test "what a way to hold cannot be is refused" {
  for text in 0 1001 -1 x '' 1.5 3x; do refused run "--slots=$text" x -- touch "$MARKER"; done
  for text in 0 0s -1 soon ''; do refused run "--max-hold=$text" x -- touch "$MARKER"; done
  for text in -1 soon '' daily; do
    refused run "--min-hold=$text" x -- touch "$MARKER"
    refused run "--once-per=$text" x -- touch "$MARKER"
  done
  for option in --min-hold=1 --max-hold=1 --no-renew --once-per=1 --contain -c=x; do refused acquire "$option" x; done
}

@test "values keep their brackets, quotes, blanks and leading dashes" {
  for value in '[a,b]' '[]' '{a}' '"q"' "it's" 'a b' '[[a],[b]]' '-x' '--' 'a=b' '%s%n' '#c' '\n'; do
    "$DLOCK" run --reason "$value" "$(fresh)" -- "$DLOCK" inspect --json "$(fresh)" >"$BATS_TEST_TMPDIR/json"
    run -0 json 'd["locks"][0]["holds"][0]["reason"]' <"$BATS_TEST_TMPDIR/json"
    [ "$output" = "$value" ]
    "$DLOCK" run --reason="$value" "$(fresh)" -- "$DLOCK" inspect --json "$(fresh)" >"$BATS_TEST_TMPDIR/json"
    run -0 json 'd["locks"][0]["holds"][0]["reason"]' <"$BATS_TEST_TMPDIR/json"
    [ "$output" = "$value" ]
  done
}

@test "an empty value is a value" {
  export CI_JOB_URL=https://ci.example/1
  "$DLOCK" run --reason '' "$(fresh)" -- "$DLOCK" inspect --json "$(fresh)" >"$BATS_TEST_TMPDIR/json"
  run -0 json 'd["locks"][0]["holds"][0]["reason"]' <"$BATS_TEST_TMPDIR/json"
  assert_output ""
  "$DLOCK" run "$(fresh)" -- "$DLOCK" inspect --json "$(fresh)" >"$BATS_TEST_TMPDIR/json"
  run -0 json 'd["locks"][0]["holds"][0]["reason"]' <"$BATS_TEST_TMPDIR/json"
  assert_output https://ci.example/1
  refused run --ttl '' x -- touch "$MARKER"
  refused run -c '' -w '' x
}

@test "the default of --reason is the first URL of a CI job that is set" {
  local -a job=(GITHUB_SERVER_URL=https://hub.example GITHUB_REPOSITORY=a/b GITHUB_RUN_ID=7)
  local name url=https://hub.example/a/b/actions/runs/7
  for name in none BUILD_URL CIRCLE_BUILD_URL BUILDKITE_BUILD_URL CI_JOB_URL; do
    if [ "$name" != none ]; then
      url=https://ci.example/$name
      job+=("$name=$url")
    fi
    env "${job[@]}" "$DLOCK" run "$(fresh)" -- "$DLOCK" inspect --json "$(fresh)" >"$BATS_TEST_TMPDIR/json"
    run -0 json 'd["locks"][0]["holds"][0]["reason"]' <"$BATS_TEST_TMPDIR/json"
    assert_output "$url"
  done
}

@test "short options combine, with their value in the same word or the next" {
  r set dlock:taken x >/dev/null
  run -9 "$DLOCK" run -nE9 taken -- touch "$MARKER"
  run -9 "$DLOCK" run -nE 9 taken -- touch "$MARKER"
  run -9 "$DLOCK" run -E9 -w0 taken -- touch "$MARKER"
  run -75 "$DLOCK" run -w0.1 taken -- touch "$MARKER"
  run -75 "$DLOCK" run --wait=0.1 taken -- touch "$MARKER"
  run -75 "$DLOCK" run --timeout 100ms taken -- touch "$MARKER"
  assert_not_started
  run -0 "$DLOCK" run -w5 "$(fresh)" -- true
  r del dlock:taken >/dev/null
}

@test "global options go before or after the command" {
  run -0 "$DLOCK" --prefix p: run "$(fresh)" -- redis-cli -s "$REDIS_SOCKET" exists "p:$(fresh)"
  assert_output 1
  run -0 "$DLOCK" run --prefix=p: "$(fresh)" -- redis-cli -s "$REDIS_SOCKET" exists "p:$(fresh)"
  assert_output 1
}

@test "durations are read" {
  local text
  declare -A ms=([1]=1000 [1.5]=1500 [2s]=2000 [1500ms]=1500 [1m]=60000 [1h30m]=5400000 [1d]=86400000
    [0.5m]=30000 [1m500ms]=60500 [2.0s]=2000 [365d]=31536000000)
  for text in "${!ms[@]}"; do
    run -0 "$DLOCK" run --ttl "$text" "$(fresh)" -- sh -c 'echo "$DLOCK_TTL_MS"'
    assert_output "${ms[$text]}"
  done
}

@test "C10: what is no duration is refused and quoted" {
  for text in soon 5x -1 -5s 1h30 '1 s' 1s1 s 1e3 0x10 inf nan 1,5 ' 5' '5 ' +5 99999999999999999999d .; do
    refused run "--wait=$text" x -- touch "$MARKER"
    assert_stderr_has "$text"
    refused run "--ttl=$text" x -- touch "$MARKER"
  done
  refused run --wait=$'5\e[31m' x -- touch "$MARKER"
  refute_stderr_has $'\e'
}

@test "C10: a lease under a second or over a year is refused" {
  for text in 0 999ms 0.5 366d; do
    refused run --ttl "$text" x -- touch "$MARKER"
    assert_stderr_has ttl
  done
  run -0 "$DLOCK" run --ttl 1s -k 0 "$(fresh)" -- true
}

@test "C10: a kill-after that does not fit into the lease is refused, with what would fit" {
  refused run --ttl 5s -k 5s x -- touch "$MARKER"
  assert_stderr_has kill-after
  refused run --ttl 30s --kill-after 29s x -- touch "$MARKER"
  assert_stderr_has 'at most'
  run -0 "$DLOCK" run --ttl 30s -k 5s "$(fresh)" -- true
  run -0 "$DLOCK" run --ttl 30s -k 0 "$(fresh)" -- true
}

@test "signals are read by name and number" {
  for text in TERM SIGTERM 15 INT HUP USR1 SIGUSR2 KILL 9 64; do
    run -0 "$DLOCK" run --signal "$text" "$(fresh)" -- true
  done
  for text in NOPE SIGNOPE 0 -1 65 1000 '' 'TERM ' 15x; do
    refused run "--signal=$text" x -- touch "$MARKER"
  done
}

@test "exit codes are 0 to 255" {
  for text in -1 256 x 1.5 '' 1x 99999999999; do
    refused run "-E$text" x -- touch "$MARKER"
    refused run "--conflict-exit-code=$text" x -- touch "$MARKER"
  done
}

@test "words of a choice are checked" {
  refused run --on-lost maybe x -- touch "$MARKER"
  refused --log-format xml run x -- touch "$MARKER"
  refused --color sometimes run x -- touch "$MARKER"
  for url in nonsense://x ftp://x '' redis:// http://x redis://h:0 redis://h:65536 redis://h/x local://x; do
    run --separate-stderr "$DLOCK" --url "$url" run x -- touch "$MARKER"
    [ "$status" = 64 ] || [ "$status" = 78 ] || fail "$url: $status"
    assert_one_line
    assert_not_started
  done
}

@test "K14: names of every kind are taken, each a lock of its own" {
  local name
  for name in a 'a b' ' a' 'a ' a:b 'a{b}c' '{x}' '{}' '}{' '*' '?' '[a]' '..' '../../x' /etc/passwd 'größe' '名前' \
    $'\xff\xfe' $'tab\there' $'\e[31mred' $'\e]0;title\a' "it's" '"' $'\\' '%00' '#' 'a|b' 'A' "$(printf '%0512d' 0)"; do
    run -0 --separate-stderr "$DLOCK" run -n "$name" -- sh -c '[ "$DLOCK_NAME" = "$1" ]
      [ "$(redis-cli -s "$REDIS_SOCKET" exists "dlock:$1")" = 1 ] && [ "$(redis-cli -s "$REDIS_SOCKET" keys "dlock:*" |
        grep -cvE "^dlock:(holds|line|waiters|done|last|released):")" = 1 ]' sh "$name"
  done
  assert_no_keys
}

@test "K14: names that cannot be a lock are refused" {
  refused run '' -- touch "$MARKER"
  assert_stderr_has empty
  refused run "$(printf '%0513d' 0)" -- touch "$MARKER"
  assert_stderr_has 513
  refused run $'a\nb' -- touch "$MARKER"
  refused run $'a\rb' -- touch "$MARKER"
  refused inspect ''
  refused force-release --yes $'a\nb'
}

@test "K14: names that would collide with keys of dlock's own are refused" {
  for name in 'holds:{dlock:x}' 'revoked:{dlock:x}' 'line:{dlock:x}' 'waiters:{dlock:x}' 'holds:dlock:a{b}' 'revoked:dlock:a{b}'; do
    refused run "$name" -- touch "$MARKER"
    refused inspect "$name"
  done
  for prefix in dlock: '' p; do
    refused --prefix "$prefix" run '{x}:u:1:rwlock_timeout:1' -- touch "$MARKER"
    refused --prefix "$prefix" inspect 'a{b}:rwlock_timeout:42'
  done
  run -0 "$DLOCK" inspect 'a:rwlock_timeout:42' 'a{b}:rwlock_timeout:' 'a{b}:rwlock_timeout:x'
  refused --prefix '' run 'redisson_lock_token:{x}' -- touch "$MARKER"
  refused --prefix '' run 'dlock:holds:{x}' -- touch "$MARKER"
  # With an empty prefix "{x}" would share its side keys with "x".
  refused --prefix '' run '{x}' -- touch "$MARKER"
  run -0 "$DLOCK" --prefix '' run 'x{y}' -- redis-cli -s "$REDIS_SOCKET" exists 'x{y}'
  assert_output 1
}

@test "control characters of a name are escaped on stderr, in list and in inspect" {
  local name=$'bad\e]0;owned\a\e[2J\xff\u202e\tname'
  "$DLOCK" run --reason $'r\e[31m\u202e' "$name" -- sh -c '
    "$DLOCK" list >"$0/list"; "$DLOCK" inspect "$1" >"$0/inspect"; "$DLOCK" inspect --json "$1" >"$0/json"
    env -u DLOCK_HOLDS "$DLOCK" run -n "$1" -- true 2>"$0/busy"
    env -u DLOCK_HOLDS "$DLOCK" -vv run -w 1.5 "$1" -- true 2>"$0/wait"
    "$DLOCK" force-release --if-token 1 --yes "$1" 2>"$0/release"; true' "$BATS_TEST_TMPDIR" "$name"
  for file in list inspect json busy wait release; do
    [ -s "$BATS_TEST_TMPDIR/$file" ] || fail "$file is empty"
    ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$BATS_TEST_TMPDIR/$file" || fail "a control character in $file"
    ! LC_ALL=C grep -q $'\xff' "$BATS_TEST_TMPDIR/$file" || fail "invalid UTF-8 in $file"
    [ "$file" = json ] || ! grep -q $'\u202e' "$BATS_TEST_TMPDIR/$file" || fail "U+202E in $file"
  done
  run -0 cat "$BATS_TEST_TMPDIR/list"
  assert_output --partial 'bad\x1b]0;owned\x07\x1b[2J\xff\u202e\tname'
}
