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

# In a folder that others can write, no file is root's alone to arrange.
exposed_to_all() { chmod 1777 "$(dirname "$CONFIG")"; }
warns_of_password() { # the file as it stands
  local mode
  chmod 600 "$CONFIG"
  run -0 --separate-stderr "$DLOCK" run x -- true
  assert_no_stderr
  for mode in 644 640 604 444; do
    chmod "$mode" "$CONFIG"
    run -0 --separate-stderr "$DLOCK" run x -- true
    assert_one_line
    assert_stderr_has "$CONFIG: holds a password, and others can read it; chmod 600 it"
    refute_stderr_has sesame
  done
  chmod 600 "$CONFIG"
}

@test "a password in a file that others can read is warned about, once" {
  second_redis --requirepass sesame
  unset DLOCK_URL
  exposed_to_all
  config "url = '$SECOND_URL'" 'password = "sesame"'
  warns_of_password
  config "url = 'redis+unix://:sesame@$SECOND_SOCKET'"
  warns_of_password
  config 'ttl = "9s"'
  chmod 644 "$CONFIG"
  DLOCK_URL=redis+unix://$REDIS_SOCKET ttl_now
  assert_output 9000
  assert_no_stderr
}

# mounted COMMAND…: in a mount namespace of its own, where $MOUNTED is a secret as Kubernetes mounts it.
mounted() {
  unshare -m bash -c 'set -e
    dir=${MOUNTED%/*}
    mount -t tmpfs -o mode=1777 tmpfs "$dir"
    mkdir "$dir/..2026"
    echo sesame >"$dir/..2026/password"
    chmod "$SECRET_MODE" "$dir/..2026/password"
    ln -s ..2026 "$dir/..data" && ln -s ..data/password "$dir/password"
    mount -o remount,ro "$dir"
    exec "$@"' bash "$@"
}
@test "a secret that Docker or Kubernetes has mounted is used without a word (needs root)" {
  [ "$(id -u)" = 0 ] || skip "only root can mount"
  second_redis --requirepass sesame
  export DLOCK_URL=$SECOND_URL MOUNTED=$BATS_TEST_TMPDIR/secrets/password SECRET_MODE
  mkdir "${MOUNTED%/*}"
  for SECRET_MODE in 644 444 440 400; do
    run -0 --separate-stderr mounted "$DLOCK" --password-file "$MOUNTED" run x -- true
    assert_no_stderr
  done
}

@test "K27: a user's file in a folder that is closed to him is named, and the run goes on (needs root)" {
  [ "$(id -u)" = 0 ] || skip "only root can become another user"
  export HOME=$BATS_TEST_TMPDIR/home
  mkdir -m 700 "$HOME"
  run -0 --separate-stderr as_other "$(for_all)" config
  assert_one_line
  assert_stderr_has "$HOME/.config/dlock/config.toml: cannot open: permission denied; the run goes on without it: is HOME that of this user?"
}

@test "K27: the system's file in a folder that is closed to a user is not taken for none (needs root)" {
  [ "$(id -u)" = 0 ] || skip "only root can mount"
  cp -a /etc "$BATS_TEST_TMPDIR/etc"
  mkdir -p "$BATS_TEST_TMPDIR/etc/dlock"
  echo 'prefix = "prod:"' >"$BATS_TEST_TMPDIR/etc/dlock/config.toml"
  chmod 750 "$BATS_TEST_TMPDIR/etc/dlock"
  export -f as_other
  export HOME=/nowhere
  run -78 --separate-stderr unshare -m bash -c 'mount --bind "$BATS_TEST_TMPDIR/etc" /etc && as_other "$@"' \
    bash "$(for_all)" run x -- touch "$MARKER"
  assert_one_line
  assert_stderr_has "/etc/dlock/config.toml: cannot open: permission denied; all users need it; or name another with --config"
  assert_not_started
  # Root's own run has the prefix.
  run -0 unshare -m bash -c 'mount --bind "$BATS_TEST_TMPDIR/etc" /etc && exec "$DLOCK" run "$0" -- "$DLOCK" list' "$(fresh)"
  r exists "dlock:$(fresh)" | grep -qx 0
}

@test "a FIFO in place of a configuration file is refused at once, and a named one is read" {
  mkfifo "$CONFIG"
  local owner
  for owner in "$(id -u)" 12345; do
    [ "$(id -u)" = 0 ] || [ "$owner" = "$(id -u)" ] || continue
    chown "$owner" "$CONFIG"
    run -78 --separate-stderr timeout 10 "$DLOCK" run x -- touch "$MARKER"
    assert_one_line
    assert_stderr_has "$CONFIG: is not a regular file"
  done
  [ "$(id -u)" != 0 ] || refused_config --config "$CONFIG" run x -- touch "$MARKER"
  chown "$(id -u)" "$CONFIG"
  echo 'ttl = "9s"' >"$CONFIG" 3>&- &
  XDG_CONFIG_HOME='' ttl_now --config "$CONFIG"
  assert_output 9000
}

@test "a user without a home is told so with -v" {
  unset XDG_CONFIG_HOME HOME
  run -0 --separate-stderr "$DLOCK" -v list
  assert_stderr_has 'HOME is not set: no configuration file of the user is read'
  run -0 --separate-stderr "$DLOCK" list
  assert_no_stderr
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
