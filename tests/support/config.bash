# SPDX-License-Identifier: MIT
# Shared by cli suites: the configuration file of a user, and how it is refused.
# shellcheck shell=bash
# shellcheck disable=SC2016  # for the shell there

# own_config: from now on the configuration file of the user is $CONFIG, which does not exist yet.
own_config() {
  export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/xdg
  CONFIG=$XDG_CONFIG_HOME/dlock/config.toml
  mkdir -p "$XDG_CONFIG_HOME/dlock"
}
# config LINE…: writes the configuration file of the user.
config() {
  printf '%s\n' "$@" >"$CONFIG"
  chmod 600 "$CONFIG"
}
ttl_now() { run -0 --separate-stderr "$DLOCK" "$@" run "$(fresh)" -- sh -c 'echo "$DLOCK_TTL_MS"'; }

# refused_config WORD…: checks that dlock WORD… exits with 78 and one line, and does nothing.
refused_config() {
  run -78 --separate-stderr "$DLOCK" "$@"
  assert_output ""
  assert_one_line
  assert_not_started
}
holds_json() { # EXPRESSION WANT
  [ "$("$DLOCK" run "$(fresh)" -- "$DLOCK" inspect --json "$(fresh)" | json "d['locks'][0]['holds'][0]$1")" = "$2" ]
}

# for_all: makes a copy of dlock that every user can run.
for_all() {
  local folder=$BATS_RUN_TMPDIR
  chmod go+x "$folder"
  install -m 755 "$DLOCK" "$folder/dlock-for-all"
  echo "$folder/dlock-for-all"
}
# as_other DLOCK WORD…: runs this copy of dlock (for_all) as a user who is neither root nor the test
# user.
as_other() { setpriv --reuid=12345 --regid=12345 --clear-groups env -u XDG_CONFIG_HOME "$@"; }
