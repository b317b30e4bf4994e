#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a password is seen by nobody who was not given it: not in what dlock prints, not in the
# list of processes, not in what it stores, not in a core file.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server cli

# A word that occurs nowhere else.
secret=zq7sesame9xk
setup_file() { set_up_file --requirepass zq7sesame9xk; }
setup() {
  set_up
  export REDISCLI_AUTH=$secret
  with_url=redis+unix://:$secret@$REDIS_SOCKET
  unset DLOCK_URL
  printf '%s\n' "$secret" >"$BATS_TEST_TMPDIR/password"
  chmod 600 "$BATS_TEST_TMPDIR/password"
}
# redis-cli takes its password from here; dlock must be asked for its own sources.
dlock() { env -u REDISCLI_AUTH "$DLOCK" "$@"; }

refute_secret() { # TEXT WHERE
  [[ $1 != *"$secret"* ]] || fail "the password is in $2"
  [[ $1 != *"${secret:0:8}"* ]] || fail "a part of the password is in $2"
}

# quiet_about WORD…: runs dlock -vv WORD…, by all the ways a password comes in, and reads what it prints.
quiet_about() {
  local format
  for format in text json; do
    run --separate-stderr timeout 10 env -u REDISCLI_AUTH "$DLOCK" -vv --connect-timeout 100ms --log-format "$format" "$@"
    refute_secret "$output" "the output of $*"
    refute_secret "$stderr" "stderr of $*"
  done
}
by_every_way() { # ADDRESS WORD…: with the password in a URL, a variable, a file, and an argument
  local address=$1 scheme rest
  shift
  scheme=${address%%://*}
  rest=${address#*://}
  DLOCK_URL=$scheme://:$secret@$rest quiet_about "$@"
  DLOCK_URL=$scheme://user:$secret@$rest quiet_about "$@"
  DLOCK_URL=$address DLOCK_PASSWORD=$secret quiet_about "$@"
  DLOCK_URL=$address quiet_about --password-file "$BATS_TEST_TMPDIR/password" "$@"
  quiet_about --url "$scheme://:$secret@$rest" "$@"
  quiet_about "--url=$scheme://user:$secret@$rest" "$@"
}

@test "no message shows the password: everything is well" {
  by_every_way "redis+unix://$REDIS_SOCKET" run "$(fresh)" -- true
  by_every_way "redis+unix://$REDIS_SOCKET" inspect "$(fresh)"
  by_every_way "redis+unix://$REDIS_SOCKET" list
  by_every_way "redis+unix://$REDIS_SOCKET" force-release --yes "$(fresh)"
}

@test "no message shows the password: no listener, an unknown host, an unreachable socket" {
  by_every_way "redis://127.0.0.1:$(free_port)" run x -- true
  by_every_way redis://no-such-host.invalid run x -- true
  by_every_way "redis+unix://$BATS_TEST_TMPDIR/none" inspect x
}

@test "R27: no message shows the password: it is the wrong one, or the server wants none" {
  second_redis --requirepass another
  by_every_way "redis+unix://$SECOND_SOCKET" run x -- true
  r2 -a another config set requirepass '' >/dev/null 2>&1
  by_every_way "redis+unix://$SECOND_SOCKET" run x -- true
}

@test "no message shows the password: servers that are none, and one that repeats what it is sent" {
  local mode
  for mode in repeat garbage http close silent; do
    fake_server "$mode"
    by_every_way "redis://127.0.0.1:$FAKE_PORT" run x -- true
    end_helpers
  done
}

@test "no message shows the password: URLs that make no sense" {
  local url
  for url in "redis://:$secret@host:port" "redis://:$secret@" "redis://:$secret@host/one" "redis://:$secret@h:1:2" \
    "rediss://:$secret@host?x" "redis://user:$secret" "redis://:$secret@host?x=$secret" "redis+unix://:$secret@relative" \
    "nonsense://:$secret@host" "//:$secret@host" ":$secret@host" "redis:/:$secret@host" "redis://:$secret/$secret@host" \
    "redis://:$secret @host" "local://:$secret@/dir"; do
    DLOCK_URL=$url quiet_about run x -- true
    quiet_about --url "$url" run x -- true
    quiet_about "--url=$url" list
    printf 'url = "%s"\n' "$url" >"$BATS_TEST_TMPDIR/config.toml"
    chmod 600 "$BATS_TEST_TMPDIR/config.toml"
    quiet_about --config "$BATS_TEST_TMPDIR/config.toml" run x -- true
    chmod 644 "$BATS_TEST_TMPDIR/config.toml"
    quiet_about --config "$BATS_TEST_TMPDIR/config.toml" run x -- true
  done
}

@test "no message shows the password: config files that make no sense" {
  local line
  for line in "password = [\"$secret\", \"b\"]" "pasword = \"$secret\"" "password = \"$secret" "$secret" "password = $secret x" \
    "[password]
$secret = 1" "url = [\"redis://:$secret@h\", \"x\"]"; do
    printf '%s\nttl = "soon"\n' "$line" >"$BATS_TEST_TMPDIR/config.toml"
    chmod 600 "$BATS_TEST_TMPDIR/config.toml"
    [[ $line == "$secret" || $line == *"$secret = "* ]] || quiet_about --config "$BATS_TEST_TMPDIR/config.toml" run x -- true
  done
}

@test "a password in an argument is warned about, once, and works" {
  run -0 --separate-stderr dlock --url "$with_url" run "$(fresh)" -- true
  assert_one_line
  assert_stderr_has DLOCK_PASSWORD
  run -0 --separate-stderr dlock run "--url=$with_url" "$(fresh)" -- true
  assert_one_line
  DLOCK_URL=$with_url run -0 --separate-stderr dlock run "$(fresh)" -- true
  assert_no_stderr
}

@test "each password in a list of URLs is hidden, also behind a URL without one" {
  local list="redis://127.0.0.1:1 redis://u:$secret@127.0.0.1:3 redis://:$secret@127.0.0.1:2"
  "$DLOCK" --url "$list" run -w 20 --connect-timeout 20s "$(fresh)" -- touch "$MARKER" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
  local waiter=$!
  eventually 10s grep -qs . "$BATS_TEST_TMPDIR/err"
  refute_secret "$(command_lines "$waiter")" "the command line"
  end_ours "$waiter"
  refute_secret "$(cat "$BATS_TEST_TMPDIR/err")" "what is printed"
  run -78 --separate-stderr env DLOCK_URL="redis://h1 redis://:$secret redis://h3" "$DLOCK" run a -- touch "$MARKER"
  refute_secret "$stderr" "what is printed of a URL without its host"
  install -d -m 777 "$BATS_TEST_TMPDIR/open" # a folder of root alone exposes nothing
  printf 'url = "%s"\n' "$list" >"$BATS_TEST_TMPDIR/open/config.toml"
  chmod 644 "$BATS_TEST_TMPDIR/open/config.toml"
  run --separate-stderr "$DLOCK" --config "$BATS_TEST_TMPDIR/open/config.toml" --connect-timeout 100ms inspect a
  assert_stderr_has "holds a password, and others can read it"
  assert_not_started
}

# command_lines PID: of PID and of every process below it that is a dlock.
command_lines() {
  local pid
  for pid in "$1" $(cat /proc/"$1"/task/*/children 2>/dev/null); do
    tr '\0' ' ' <"/proc/$pid/cmdline"
  done
}
argument_is_hidden() { # OPTIONS… : a holder and a waiter that were given the password as an argument
  hold "$(fresh)" "$@"
  "$DLOCK" run "$@" "$(fresh)" -- touch "$MARKER" 2>/dev/null 3>&- &
  local waiter=$!
  eventually 10s waits_for "$(fresh)"
  refute_secret "$(command_lines "$HOLDER")" "the command line of a holder"
  refute_secret "$(command_lines "$waiter")" "the command line of a waiter"
  [[ $(command_lines "$waiter") == *run* ]]
  refute_secret "$(ps -eo args)" "ps"
  let_go
  wait "$waiter"
  [ -e "$MARKER" ]
  rm "$MARKER"
}
waits_for() { [ "$(r pubsub numsub "redisson_lock__channel:{dlock:$1}" | tail -1)" -gt 0 ]; }

@test "R27: a password in an argument is not in the list of processes while it holds or waits" {
  unset REDISCLI_AUTH
  r() { REDISCLI_AUTH=$secret redis-cli -s "$REDIS_SOCKET" "$@"; }
  argument_is_hidden --url "$with_url"
  argument_is_hidden "--url=$with_url"
  argument_is_hidden --reason redis://wrong:"$secret"@127.0.0.1:1 --url "$with_url"
}

@test "records and the environment of the command show no password" {
  r flushall >/dev/null # the reason of a run above has it, on purpose
  export DLOCK_URL=$with_url
  hold "$(fresh)" --reason why
  local holds
  holds=$(tr '\0' '\n' </proc/"$(cat "$BATS_TEST_TMPDIR/held")"/environ | grep ^DLOCK_HOLDS=)
  [ -n "$holds" ]
  refute_secret "$holds" DLOCK_HOLDS
  refute_secret "$("$DLOCK" inspect "$(fresh)"; "$DLOCK" inspect --json "$(fresh)"; "$DLOCK" list --json)" 'inspect and list'
  local key
  for key in $(r keys '*'); do
    refute_secret "$key $(r dump "$key" | tr -d '\0')" "the key $key"
    [ "$(r type "$key")" != hash ] || refute_secret "$(r hgetall "$key")" "the key $key"
  done
  let_go
}

@test "the words of the command are not stored: they may hold secrets" {
  export DLOCK_URL=$with_url
  "$DLOCK" run "$(fresh)" -- sh -c '"$DLOCK" inspect --json "$DLOCK_NAME" >"$0"; "$DLOCK" inspect "$DLOCK_NAME" >>"$0"' \
    "$BATS_TEST_TMPDIR/out" "--token=$secret"
  file_has "$BATS_TEST_TMPDIR/out" '"sh"'
  refute_secret "$(cat "$BATS_TEST_TMPDIR/out")" inspect
}

@test "P38: a dlock that crashes leaves no core file, wherever it has its password from" {
  cd "$BATS_TEST_TMPDIR"
  ulimit -c unlimited
  local address=redis+unix://$REDIS_SOCKET source
  for source in DLOCK_URL="$with_url" DLOCK_PASSWORD="$secret" DLOCK_PASSWORD_FILE="$BATS_TEST_TMPDIR/password" \
    REDISCLI_AUTH="$secret" REDIS_URL="$with_url"; do
    [[ $source == *URL=* ]] || export DLOCK_URL=$address
    export "${source?}"
    hold "$(fresh "${source%%=*}")"
    kill -ABRT "$HOLDER"
    wait "$HOLDER" || true
    kill -KILL "$(cat "$BATS_TEST_TMPDIR/held")" 2>/dev/null || true
    [ -z "$(find . -name 'core*')" ] || fail "a core file with the password of ${source%%=*}"
    unset "${source%%=*}" DLOCK_URL
    export REDISCLI_AUTH=$secret
  done
}

@test "the child may dump its core as it would without dlock" {
  export DLOCK_URL=$with_url
  run -0 bash -c 'ulimit -c unlimited; diff <(bash -c "ulimit -c") <("$DLOCK" run x -- bash -c "ulimit -c")'
  run -0 "$DLOCK" run "$(fresh)" -- python3 -c 'import ctypes, sys
sys.exit(0 if ctypes.CDLL(None).prctl(3) == 1 else 1)'
}
