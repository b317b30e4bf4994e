#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a configuration file that others could have written, or that has a mistake in it, is refused
# with 78.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031
load ../support/suite
suite server cli config

setup() {
  set_up
  own_config
}

must_be_private() { # the file as it stands
  chmod 600 "$CONFIG"
  "$DLOCK" run x -- true
  for mode in 644 640 604; do
    chmod "$mode" "$CONFIG"
    refused_config run x -- touch "$MARKER"
    assert_stderr_has "$CONFIG"
    refute_stderr_has sesame
  done
}

@test "a file with a password must be private" {
  second_redis --requirepass sesame
  unset DLOCK_URL
  config "url = '$SECOND_URL'" 'password = "sesame"'
  must_be_private
  config "url = 'redis+unix://:sesame@$SECOND_SOCKET'"
  must_be_private
  config 'ttl = "9s"'
  chmod 644 "$CONFIG"
  DLOCK_URL=redis+unix://$REDIS_SOCKET ttl_now
  assert_output 9000
}

@test "a file that others can write is refused" {
  config 'ttl = "9s"'
  for mode in 666 620 602; do
    chmod "$mode" "$CONFIG"
    refused_config run x -- touch "$MARKER"
    assert_stderr_has "$CONFIG"
  done
}

@test "a file of another user is refused (needs root)" {
  [ "$(id -u)" = 0 ] || skip "only root can give files away"
  config 'ttl = "9s"'
  chown 12345 "$CONFIG"
  refused_config run x -- touch "$MARKER"
  assert_stderr_has "$CONFIG"
  echo secret >"$BATS_TEST_TMPDIR/password"
  chmod 600 "$BATS_TEST_TMPDIR/password"
  chown 12345 "$BATS_TEST_TMPDIR/password"
  rm "$CONFIG"
  refused_config --password-file "$BATS_TEST_TMPDIR/password" run x -- touch "$MARKER"
}

@test "unknown keys are refused and named" {
  for line in 'tll = "9s"' 'TTL = "9s"' 'help = true' 'json = true' 'command = "x"' 'connect_timeout = "1s"'; do
    config "$line"
    refused_config run x -- touch "$MARKER"
    assert_stderr_has "${line%% *}"
    assert_stderr_has "$CONFIG"
  done
}

@test "sections are refused" {
  config '[run]' 'ttl = "9s"'
  refused_config run x -- touch "$MARKER"
  config '[empty]'
  run --separate-stderr "$DLOCK" run "$(fresh)" -- true
  [ "$status" = 78 ] || [ "$status" = 0 ]
}

@test "values of the wrong type or without sense are refused" {
  for line in 'ttl = "soon"' 'ttl = [1, 2]' 'ttl = ["9s"]' 'ttl = true' 'nonblock = "maybe"' 'nonblock = 7' \
    'conflict-exit-code = "many"' 'conflict-exit-code = 256' 'on-lost = "cry"' 'verbose = "very"' \
    'signal = "NOPE"' 'color = 1' 'log-format = "xml"' 'ttl = ""' 'ttl = "1s" "2s"'; do
    config "$line"
    refused_config run x -- touch "$MARKER"
    assert_stderr_has "$CONFIG"
  done
}

@test "a file that is no TOML is refused" {
  for line in 'just words' '= "x"' 'ttl' '[unclosed' 'reason = "a
b"'; do
    config "$line"
    refused_config run x -- touch "$MARKER"
  done
  head -c 70000 /dev/zero | tr '\0' '#' >"$CONFIG"
  refused_config run x -- touch "$MARKER"
  head -c 4000 /dev/urandom >"$CONFIG"
  refused_config run x -- touch "$MARKER"
  refute_stderr_has $'\e'
}

@test "a string in a file is read as TOML says: no comment in quotes, escapes in double ones" {
  config 'reason = "a # b"'
  holds_json "['reason']" 'a # b'
  config 'reason = "say \"no\" to C:\\dir"'
  holds_json "['reason']" 'say "no" to C:\dir'
  config "reason = 'C:\\dir # x'"
  holds_json "['reason']" 'C:\dir # x'
  config 'reason = "a, b = [c]"'
  holds_json "['reason']" 'a, b = [c]'
  second_redis --requirepass 'se#sa"me,]'
  config "url = '$SECOND_URL'" 'password = "se#sa\"me,]"'
  unset DLOCK_URL
  "$DLOCK" run x -- true
}

@test "comments, blank lines, both kinds of quotes and CR LF are read" {
  printf '# a comment\n\nttl = "9s" # behind\r\n  reason = '\''[a, b]'\'' # a comment\n' >"$CONFIG"
  ttl_now
  assert_output 9000
  holds_json "['reason']" '[a, b]'
}
