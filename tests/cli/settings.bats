#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a setting means the same wherever it is said; an option beats the environment, which beats
# the user's file; what cannot be understood or trusted is refused with 78.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031
load ../support/suite
suite server cli config

setup() {
  set_up
  own_config
}

@test "option, environment, user's file, default: in this order" {
  ttl_now
  assert_output 30000
  config 'ttl = "20s"'
  ttl_now
  assert_output 20000
  DLOCK_TTL=10s ttl_now
  assert_output 10000
  DLOCK_TTL=10s run -0 "$DLOCK" run --ttl 5s "$(fresh)" -- sh -c 'echo "$DLOCK_TTL_MS"'
  assert_output 5000
}

@test "without XDG_CONFIG_HOME the file is in ~/.config" {
  unset XDG_CONFIG_HOME
  export HOME=$BATS_TEST_TMPDIR/home
  mkdir -p "$HOME/.config/dlock"
  echo 'ttl = "11s"' >"$HOME/.config/dlock/config.toml"
  ttl_now
  assert_output 11000
  XDG_CONFIG_HOME='' ttl_now
  assert_output 11000
  unset HOME
  ttl_now
  assert_output 30000
}

@test "--config and DLOCK_CONFIG are read instead of the user's file" {
  config 'ttl = "20s"'
  printf 'ttl = "12s"\n' >"$BATS_TEST_TMPDIR/other.toml"
  printf 'prefix = "o:"\n' >"$BATS_TEST_TMPDIR/third.toml"
  ttl_now --config "$BATS_TEST_TMPDIR/other.toml"
  assert_output 12000
  DLOCK_CONFIG=$BATS_TEST_TMPDIR/other.toml ttl_now
  assert_output 12000
  DLOCK_CONFIG=$BATS_TEST_TMPDIR/other.toml ttl_now --config "$BATS_TEST_TMPDIR/third.toml"
  assert_output 30000
}

@test "a file that was named must be there" {
  refused_config --config "$BATS_TEST_TMPDIR/missing.toml" run x -- touch "$MARKER"
  assert_stderr_has missing.toml
  DLOCK_CONFIG=$BATS_TEST_TMPDIR/missing.toml refused_config run x -- touch "$MARKER"
  assert_stderr_has missing.toml
  refused_config --config "$BATS_TEST_TMPDIR" run x -- touch "$MARKER"
}

@test "a user's file that cannot be read is an error, one that is not there is none" {
  rm -f "$CONFIG"
  ttl_now
  mkdir "$CONFIG"
  refused_config run x -- touch "$MARKER"
  rmdir "$CONFIG"
}

# works_everywhere NAME VALUE CHECK…: NAME = VALUE by environment, then by file; CHECK runs dlock.
works_everywhere() {
  local name=$1 value=$2 variable
  shift 2
  variable=DLOCK_$(tr 'a-z-' 'A-Z_' <<<"$name")
  rm -f "$CONFIG"
  (export "$variable=$value" && "$@") || fail "$variable=$value has no effect"
  config "$name = \"$value\""
  "$@" || fail "$name = \"$value\" in a file has no effect"
  if [[ $value =~ ^([0-9]+|true|false)$ ]]; then
    config "$name = $value"
    "$@" || fail "$name = $value in a file has no effect"
  fi
  rm -f "$CONFIG"
}
child_says() { # WANT SCRIPT
  [ "$("$DLOCK" run "$(fresh)" -- sh -c "$2" 2>/dev/null)" = "$1" ]
}
ends_with() { # STATUS WORD…
  local want=$1 rc=0
  shift
  "$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- || rc=$?
  [ "$rc" = "$want" ]
}
says() { # TEXT WORD…: on stderr
  local want=$1
  shift
  "$@" 2>&1 >/dev/null | grep -qF -- "$want"
}
quickly() { # WORD…: in under 4 s with 69
  ends_with 69 timeout 4 "$@"
}

@test "url is a setting everywhere" {
  local url=$DLOCK_URL
  unset DLOCK_URL
  works_everywhere url "$url?db=3" child_says 1 'redis-cli -s "$REDIS_SOCKET" -n 3 exists "dlock:$DLOCK_NAME"'
}

@test "prefix is a setting everywhere" {
  works_everywhere prefix 'p:' child_says 1 'redis-cli -s "$REDIS_SOCKET" exists "p:$DLOCK_NAME"'
  works_everywhere prefix '' child_says 1 'redis-cli -s "$REDIS_SOCKET" exists "$DLOCK_NAME"'
}

@test "connect-timeout is a setting everywhere" {
  fake_server silent
  works_everywhere connect-timeout 200ms quickly "$DLOCK" --url "redis://127.0.0.1:$FAKE_PORT" run x -- true
}

@test "password and password-file are settings everywhere" {
  second_redis --requirepass sesame
  export DLOCK_URL=$SECOND_URL
  ends_with 77 "$DLOCK" run x -- true
  works_everywhere password sesame "$DLOCK" run x -- true
  printf 'sesame\nsecond line\n' >"$BATS_TEST_TMPDIR/password"
  chmod 600 "$BATS_TEST_TMPDIR/password"
  works_everywhere password-file "$BATS_TEST_TMPDIR/password" "$DLOCK" run x -- true
  "$DLOCK" --password-file "$BATS_TEST_TMPDIR/password" run x -- true
  printf 'sesame' >"$BATS_TEST_TMPDIR/password"
  "$DLOCK" --password-file "$BATS_TEST_TMPDIR/password" run x -- true
}

@test "verbose, quiet, log-format and color are settings everywhere" {
  works_everywhere verbose true says acquired "$DLOCK" run "$(fresh)" -- true
  works_everywhere verbose 1 says acquired "$DLOCK" run "$(fresh)" -- true
  works_everywhere verbose 2 says acquired "$DLOCK" run "$(fresh)" -- true
  works_everywhere log-format json says '{"' "$DLOCK" -v run "$(fresh)" -- true
  works_everywhere color always says $'\e[' "$DLOCK" -v run "$(fresh)" -- true
  hold "$(fresh)"
  says busy "$DLOCK" run -n "$(fresh)" -- true
  says_nothing() { ! "$@" 2>&1 | grep -q .; }
  works_everywhere quiet true says_nothing "$DLOCK" run -n "$(fresh)" -- true
  let_go
}

@test "nonblock, wait and conflict-exit-code are settings everywhere" {
  hold "$(fresh)"
  works_everywhere nonblock true ends_with 75 timeout 20 "$DLOCK" run "$(fresh)" -- true
  works_everywhere wait 100ms ends_with 75 timeout 20 "$DLOCK" run "$(fresh)" -- true
  works_everywhere wait 0 ends_with 75 timeout 20 "$DLOCK" run "$(fresh)" -- true
  works_everywhere conflict-exit-code 9 ends_with 9 "$DLOCK" run -n "$(fresh)" -- true
  let_go
}

@test "an option -n or -w beats the other one of a file or the environment" {
  hold "$(fresh)"
  DLOCK_WAIT=1h run -75 timeout 20 "$DLOCK" run -n "$(fresh)" -- true
  config 'nonblock = true'
  local before=${EPOCHREALTIME/./}
  run -75 timeout 20 "$DLOCK" run -w 1 "$(fresh)" -- true
  [ $((${EPOCHREALTIME/./} - before)) -ge 900000 ]
  config 'wait = "1h"'
  DLOCK_NONBLOCK=true run -75 timeout 20 "$DLOCK" run "$(fresh)" -- true
  config 'nonblock = true'
  DLOCK_NONBLOCK=false run -124 timeout 1 "$DLOCK" run "$(fresh)" -- true
  let_go
}

@test "an option -q or -v beats the other one of a file" {
  config 'quiet = true'
  "$DLOCK" -v run "$(fresh)" -- true 2>&1 | grep -q acquired
  config 'verbose = 2'
  run -0 --separate-stderr "$DLOCK" -q run "$(fresh)" -- true
  assert_no_stderr
}

@test "a value of the wrong type in a file is refused" {
  config 'prefix = 1.10'
  refused_config run x -- touch "$MARKER"
  assert_stderr_has "$CONFIG: prefix: a text needs quotes"
  config 'contain = 1'
  refused_config list
  assert_stderr_has "$CONFIG: contain: write true or false"
}

@test "ttl, kill-after, signal, on-lost and reason are settings everywhere" {
  works_everywhere ttl 7s child_says 7000 'echo "$DLOCK_TTL_MS"'
  works_everywhere ttl 7 child_says 7000 'echo "$DLOCK_TTL_MS"'
  works_everywhere reason 'because [x]' holds_json "['reason']" 'because [x]'
  works_everywhere kill-after 1h ends_with 64 "$DLOCK" run "$(fresh)" -- true
}

@test "shared, exclusive and slots are settings everywhere, and what is said nearest counts" {
  works_everywhere shared true child_says shared 'echo "$DLOCK_MODE"'
  works_everywhere exclusive true child_says exclusive 'echo "$DLOCK_MODE"'
  works_everywhere slots 3 child_says 'slots 0' 'echo "$DLOCK_MODE $DLOCK_SLOT"'
  config 'slots = 3'
  DLOCK_SHARED=true child_says shared 'echo "$DLOCK_MODE"'
  [ "$(DLOCK_SHARED=true "$DLOCK" run -x "$(fresh)" -- sh -c 'echo "$DLOCK_MODE"')" = exclusive ]
  # Of several in one place slots go before exclusive before shared.
  DLOCK_SHARED=true DLOCK_EXCLUSIVE=true child_says exclusive 'echo "$DLOCK_MODE"'
  DLOCK_SLOTS=2 DLOCK_EXCLUSIVE=true child_says slots 'echo "$DLOCK_MODE"'
  local one other
  for one in 'shared = true' 'exclusive = true' 'slots = 2'; do
    for other in 'shared = true' 'exclusive = true' 'slots = 2'; do
      [ "$one" != "$other" ] || continue
      config "$one" "$other"
      case "$one $other" in
        *slots*) child_says slots 'echo "$DLOCK_MODE"' ;;
        *) child_says exclusive 'echo "$DLOCK_MODE"' ;;
      esac
    done
  done
  DLOCK_SLOTS=5 run -0 "$DLOCK" acquire "$(fresh)"
  assert_output --partial DLOCK_SLOT=0
  run -75 env DLOCK_SLOTS=4 "$DLOCK" run -n "$(fresh)" -- true # five there are
  r del "dlock:$(fresh)" >/dev/null
}

is_kept() {
  "$DLOCK" run "$(fresh)" -- true && ends_with 0 "$DLOCK" inspect -q "$(fresh)" &&
    "$DLOCK" force-release --yes "$(fresh)" 2>/dev/null
}
runs_once() {
  r del "dlock:done:{dlock:$(fresh)}" >/dev/null
  ends_with 0 "$DLOCK" run --once-per 0 "$(fresh)" -- true # does not look, and tells nobody
  [ "$("$DLOCK" run "$(fresh)" -- echo ran && "$DLOCK" run "$(fresh)" -- echo ran)" = ran ]
}
@test "min-hold, max-hold, no-renew and once-per are settings everywhere" {
  works_everywhere min-hold 1h is_kept
  works_everywhere max-hold 200ms ends_with 124 timeout 20 "$DLOCK" run "$(fresh)" -- sleep 30
  works_everywhere no-renew true ends_with 124 timeout 20 "$DLOCK" run --ttl 2s "$(fresh)" -- sleep 30
  works_everywhere once-per 1h runs_once
  DLOCK_MAX_HOLD=5s run -64 "$DLOCK" run --min-hold 10s "$(fresh)" -- touch "$MARKER"
  assert_not_started
}

# stops_with SIGNAL: which signal a child gets when its lock is revoked
stops_with() {
  "$DLOCK" run --ttl 3s "$(fresh)" -- bash -c 'for s in TERM INT USR1; do trap "echo $s >\"$0\"; exit" $s; done
    "$DLOCK" force-release --yes "$DLOCK_NAME" >/dev/null 2>&1 &
    while :; do sleep 0.05; done' "$BATS_TEST_TMPDIR/got" 2>/dev/null || true
  [ "$(cat "$BATS_TEST_TMPDIR/got")" = "$1" ]
}
@test "signal is a setting everywhere" {
  stops_with TERM
  works_everywhere signal USR1 stops_with USR1
}

writes_result() {
  rm -f "$BATS_TEST_TMPDIR/result"
  "$DLOCK" run "$(fresh)" -- true && [ -s "$BATS_TEST_TMPDIR/result" ]
}
@test "result-file is a setting everywhere" {
  works_everywhere result-file "$BATS_TEST_TMPDIR/result" writes_result
}

runs_on() {
  ends_with 0 "$DLOCK" run --ttl 2s -k 200ms "$(fresh)" -- sh -c '
    redis-cli -s "$REDIS_SOCKET" del "dlock:$DLOCK_NAME" "dlock:holds:{dlock:$DLOCK_NAME}" >/dev/null; sleep 2'
}
@test "on-lost is a setting everywhere" {
  if runs_on; then fail 'it ran on without being told to'; fi
  works_everywhere on-lost warn runs_on
}

@test "REDIS_URL counts only where no setting of dlock names a store" {
  local url=$DLOCK_URL
  unset DLOCK_URL
  REDIS_URL=$url run -0 "$DLOCK" run "$(fresh)" -- true
  REDIS_URL=redis://127.0.0.1:1 DLOCK_URL=$url run -0 "$DLOCK" run "$(fresh)" -- true
  DLOCK_URL='' REDIS_URL=$url run -0 "$DLOCK" run "$(fresh)" -- true
  REDIS_URL=redis://127.0.0.1:1 run -0 "$DLOCK" --url "$url" run "$(fresh)" -- true
  config "url = '$url'"
  REDIS_URL=redis://127.0.0.1:1 run -0 "$DLOCK" run "$(fresh)" -- true
}

@test "REDISCLI_AUTH is the last source of a password" {
  second_redis --requirepass sesame
  export DLOCK_URL=$SECOND_URL
  REDISCLI_AUTH=sesame run -0 "$DLOCK" run x -- true
  REDISCLI_AUTH=wrong DLOCK_PASSWORD=sesame run -0 "$DLOCK" run x -- true
  REDISCLI_AUTH=sesame DLOCK_PASSWORD=wrong run -77 "$DLOCK" run x -- true
  export DLOCK_URL=redis+unix://:sesame@$SECOND_SOCKET
  REDISCLI_AUTH=wrong run -0 "$DLOCK" run x -- true
  export DLOCK_URL=redis+unix://:wrong@$SECOND_SOCKET
  REDISCLI_AUTH=sesame run -77 "$DLOCK" run x -- true
}

@test "a password file may be a descriptor, and is asked for its rights" {
  second_redis --requirepass sesame
  export DLOCK_URL=$SECOND_URL
  local file=$BATS_TEST_TMPDIR/shared/password
  mkdir -m 1777 "$BATS_TEST_TMPDIR/shared"
  run -0 "$DLOCK" --password-file /dev/fd/9 run x -- true 9< <(echo sesame)
  run -0 bash -c 'echo sesame | "$DLOCK" --password-file /dev/fd/0 run x -- true'
  echo sesame >"$file"
  for mode in 620 602 666; do
    chmod "$mode" "$file"
    refused_config --password-file "$file" run x -- touch "$MARKER"
    assert_stderr_has "$file"
    refute_stderr_has sesame
  done
  for mode in 644 640 604; do
    chmod "$mode" "$file"
    run -0 --separate-stderr "$DLOCK" --password-file "$file" run x -- true
    assert_one_line
    assert_stderr_has "$file: holds a password, and others can read it; chmod 600 it"
    run -0 "$DLOCK" --password-file /dev/fd/3 run x -- true 3<"$file"
  done
  for mode in 600 400; do
    chmod "$mode" "$file"
    run -0 --separate-stderr "$DLOCK" --password-file "$file" run x -- true
    assert_no_stderr
  done
  refused_config --password-file "$BATS_TEST_TMPDIR/missing" run x -- touch "$MARKER"
  refused_config --password-file "$BATS_TEST_TMPDIR" run x -- touch "$MARKER"
  : >"$file"
  DLOCK_PASSWORD_FILE=$file refused_config run x -- touch "$MARKER"
  assert_stderr_has "$file: the first line, which must be the password, is empty"
}

@test "a password file that was opened for us is read without a right to open it (needs root)" {
  [ "$(id -u)" = 0 ] || skip "only root can become another user"
  echo sesame >"$BATS_TEST_TMPDIR/password"
  chmod 600 "$BATS_TEST_TMPDIR/password"
  XDG_CONFIG_HOME='' HOME=/nowhere run -69 --separate-stderr as_other "$(for_all)" --connect-timeout 10ms \
    --url "redis://127.0.0.1:$(free_port)" --password-file /dev/fd/3 list 3<"$BATS_TEST_TMPDIR/password"
}

@test "what contradicts itself in one file or one environment is refused" {
  config 'nonblock = true' 'wait = "1h"'
  refused_config run x -- touch "$MARKER"
  assert_stderr_has "$CONFIG: nonblock and wait contradict each other"
  rm "$CONFIG"
  DLOCK_QUIET=true DLOCK_VERBOSE=1 refused_config run x -- touch "$MARKER"
  assert_stderr_has 'DLOCK_VERBOSE and DLOCK_QUIET contradict each other'
}

@test "variables without sense are refused and named, empty ones count as not set" {
  for pair in DLOCK_TTL=soon DLOCK_TTL=10ms DLOCK_WAIT=x DLOCK_NONBLOCK=maybe DLOCK_CONFLICT_EXIT_CODE=300 DLOCK_ON_LOST=cry \
    DLOCK_VERBOSE=very DLOCK_SIGNAL=NOPE DLOCK_COLOR=1 DLOCK_LOG_FORMAT=xml DLOCK_CONNECT_TIMEOUT=-1 DLOCK_KILL_AFTER=x; do
    (export "${pair?}" && refused_config run x -- touch "$MARKER" && assert_stderr_has "${pair%%=*}")
  done
  DLOCK_TTL='' DLOCK_WAIT='' DLOCK_CONFIG='' DLOCK_NONBLOCK='' run -0 "$DLOCK" run "$(fresh)" -- true
}

@test "a URL without sense in the environment or a file ends with 78" {
  for url in nonsense ftp://x redis:// redis://h:x redis://h/one rediss://h?x local://relative; do
    DLOCK_URL=$url refused_config run x -- touch "$MARKER"
    run -64 --separate-stderr "$DLOCK" --url "$url" run x -- touch "$MARKER"
    assert_one_line
    assert_not_started
  done
}

@test "an error about the URL says where the URL was said, and what it was" {
  unset DLOCK_URL
  DLOCK_URL=bogus refused_config run x -- true
  assert_stderr_has 'dlock: DLOCK_URL: cannot use the URL "bogus": it has no scheme; write redis://'
  run -64 --separate-stderr "$DLOCK" --url redis:/db1 run a -- true
  assert_stderr_has 'behind redis: there are two slashes; write redis://host:6379'
  REDIS_URL=redis://:secret@h:port refused_config list
  assert_stderr_has 'dlock: REDIS_URL: cannot use the URL "redis://***@h:port": the port must be'
  config 'url = "rediss://h/x"'
  refused_config inspect x
  assert_stderr_has "dlock: $CONFIG: url: cannot use the URL \"rediss://h/x\": the database must be"
  run -64 --separate-stderr "$DLOCK" wait --url local://dir x
  assert_stderr_has 'dlock: --url: cannot use the URL "local://dir": the directory is not'
}

@test "settings of run in the environment do not bother the other commands" {
  DLOCK_TTL=10s DLOCK_NONBLOCK=true run -0 "$DLOCK" list
  DLOCK_TTL=10s DLOCK_WAIT=1 run -0 "$DLOCK" inspect x
}
