#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the default store is not used by mistake without a word, and settings can be shown.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154  # for the shell there; every test is a shell of its own
load ../support/suite
suite server cli config

setup() {
  set_up
  own_config
  here=$DLOCK_URL
  elsewhere=sqlite://$BATS_TEST_TMPDIR/locks.db
  unset DLOCK_URL
  # The default is at the port of another program, perhaps: nothing answers in time.
  # shellcheck disable=SC2317  # run calls it
  default() { run --separate-stderr "$@" "$DLOCK" --connect-timeout 10ms list; }
}

@test "below sudo and below a hold in another store it is said that the default store is used" {
  default env SUDO_USER=ann
  assert_stderr_has 'no setting names a store, so redis://127.0.0.1:6379/0 is used; sudo drops DLOCK_URL: keep it with --preserve-env=DLOCK_URL, or set url in /etc/dlock/config.toml'
  default "$DLOCK" --url "$elsewhere" run outer --
  assert_stderr_has "so redis://127.0.0.1:6379/0 is used, but the run above has its lock in $elsewhere; set DLOCK_URL"
  default env
  refute_stderr_has 'no setting names a store'
  default env DLOCK_VERBOSE=1
  assert_stderr_has 'no setting names a store, so redis://127.0.0.1:6379/0 is used'
  SUDO_USER=ann DLOCK_URL=$here run -0 --separate-stderr "$DLOCK" list
  assert_no_stderr
  DLOCK_URL=$here run -0 --separate-stderr "$DLOCK" -v list
  assert_stderr_has "the locks are in $here?db=0 (DLOCK_URL)"
}

@test "on-unavailable needs a store that a setting names" {
  local policy
  for policy in skip run; do
    refused_config run --on-unavailable "$policy" x -- true
    assert_stderr_has 'no setting names a store, and on-unavailable refuses the default; set DLOCK_URL'
  done
  REDIS_URL=$here run -0 "$DLOCK" run --on-unavailable run x -- true
}

@test "require-url refuses the default store, wherever it is said" {
  local command
  for command in 'run x -- true' list doctor 'force-release --yes x'; do
    # shellcheck disable=SC2086  # several words
    DLOCK_REQUIRE_URL=true refused_config $command
    assert_stderr_has 'no setting names a store, and require-url refuses the default'
  done
  refused_config --require-url inspect x
  config 'require-url = true'
  refused_config run x -- touch "$MARKER"
  DLOCK_URL=$here run -0 "$DLOCK" run "$(fresh)" -- true
  REDIS_URL=$here refused_config run x -- touch "$MARKER"
  assert_stderr_has 'no setting names a store, and require-url refuses REDIS_URL'
  config 'require-url = true' "url = '$here'"
  run -0 "$DLOCK" run "$(fresh)" -- true
}

@test "config shows each setting, its value and its place, and no password" {
  config 'ttl = "11s"' 'password = "sesame"'
  DLOCK_WAIT=5s run -0 --separate-stderr "$DLOCK" --url redis://:sesame@db1 config
  refute_stderr_has sesame
  assert_line --regexp "^url +redis://\\*\\*\\*@db1 +--url$"
  assert_line --regexp "^ttl +11s +$CONFIG$"
  assert_line --regexp "^wait +5s +DLOCK_WAIT$"
  assert_line --regexp '^prefix +dlock: +default$'
  assert_line --regexp '^reason +- +default$'
  assert_line --regexp '^contain +false +default$'
  refute_output --partial sesame
  run -0 "$DLOCK" config --json
  [ "$(json "[s['value'] for s in d['settings'] if s['name'] == 'ttl'][0]" <<<"$output")" = 11s ]
  config 'tll = "11s"'
  refused_config config
  assert_stderr_has 'did you mean ttl?'
}

@test "config reads a pipe once, and shows what another setting overrides" {
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  echo 'wait = "9s"' >"$BATS_TEST_TMPDIR/pipe" &
  DLOCK_NONBLOCK=true DLOCK_PREFIX='' run -0 timeout 20 "$DLOCK" --config "$BATS_TEST_TMPDIR/pipe" config
  assert_line --regexp '^nonblock +true +DLOCK_NONBLOCK$'
  assert_line --regexp '^wait +- +DLOCK_NONBLOCK$'
  assert_line --regexp '^prefix +"" +DLOCK_PREFIX$'
  echo 'ttl = "soon"' >"$BATS_TEST_TMPDIR/pipe" &
  run -78 --separate-stderr timeout 20 "$DLOCK" --config "$BATS_TEST_TMPDIR/pipe" run x -- true
  assert_stderr_has "$BATS_TEST_TMPDIR/pipe: ttl: "
}

@test "a variable that means nothing is named once, and not those that dlock gives to its command" {
  export DLOCK_URL=$here
  DLOCK_TTTL=5m run -0 --separate-stderr "$DLOCK" run "$(fresh)" -- true
  assert_one_line
  assert_stderr_has '"DLOCK_TTTL" is no variable of dlock: it has no effect; did you mean DLOCK_TTL?'
  run -0 --separate-stderr "$DLOCK" run "$(fresh)" -- "$DLOCK" run "$(fresh)" -- true
  assert_no_stderr
  eval "$("$DLOCK" acquire "$(fresh)")"
  run -0 --separate-stderr "$DLOCK" release "$(fresh)"
  assert_no_stderr
}
