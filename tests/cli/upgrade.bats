#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: hosts are upgraded one by one. An earlier dlock and this one exclude each other, stand in one
# line, hand over, nest, see and revoke each other, and tokens grow, on every store.
# The earlier one is built from its commit, once, into build/before; DLOCK_BEFORE names another program.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server cli supervise ticker line store_cases databases etcd zookeeper

# The last one before records had a layout. A release takes its place once there is one.
BEFORE=592fd6c1769e6aa88c5034c3dc177575644be169

setup_file() {
  local place=$PROJECT/build/before given=${DLOCK_BEFORE:-}
  set_up_file
  export OLD=${given:-$place/tree/build/dev/dlock}
  [ -z "$given" ] || return 0
  if ! grep -qs '^VERSION_ID="12"' /etc/os-release; then
    export NOT_HERE="the earlier dlock builds on Debian 12 only; DLOCK_BEFORE names one that runs here"
    return 0
  fi
  [ "$(cat "$place/commit" 2>/dev/null)" != "$BEFORE" ] || return 0
  git -C "$PROJECT" cat-file -e "$BEFORE^{commit}" 2>/dev/null || {
    echo "commit $BEFORE is not in this clone, so there is no earlier dlock to run: git fetch --unshallow" >&2
    return 1
  }
  rm -rf "$place"
  mkdir -p "$place/tree"
  git -C "$PROJECT" archive "$BEFORE" | tar -x -C "$place/tree"
  (
    cd "$place/tree"
    [ -z "$(command -v ccache)" ] || export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
    timeout 1500 sh -c 'cmake --preset dev && cmake --build --preset dev --target dlock'
  ) >"$place/log" 2>&1 3>&- || { tail -n 20 "$place/log" >&2; return 1; }
  echo "$BEFORE" >"$place/commit"
}
setup() {
  [ -z "${NOT_HERE:-}" ] || skip "$NOT_HERE"
  set_up
}
teardown() {
  end_line
  clean_up
  stop_database
  rm -rf "$BATS_FILE_TMPDIR/db" # that of the next one belongs to another account
  stop_etcd
  stop_zookeeper
}

# holds_against FIRST SECOND, and so on: two programs.
holds_against() {
  run -75 "$1" run a -- env -u DLOCK_HOLDS "$2" run -n a -- touch "$MARKER"
  run -0 "$1" run a -- "$2" run -n a -- true
  run -0 "$1" run --reason 'why not' a -- "$2" inspect a
  assert_output --partial 'why not'
  assert_not_started
}
shares_with() {
  run -0 "$1" run -s r -- env -u DLOCK_HOLDS "$2" run -n -s r -- true
  run -75 "$1" run -s r -- env -u DLOCK_HOLDS "$2" run -n -x r -- touch "$MARKER"
  run -75 "$1" run --slots 1 s -- env -u DLOCK_HOLDS "$2" run -n --slots 1 s -- touch "$MARKER"
  run -0 "$1" run --once-per 1h once -- true
  run -0 "$2" run --once-per 1h once -- touch "$MARKER"
  run -0 "$2" forget once
  assert_not_started
}
# Renewals keep it longer than its lease, and the waiter enters when it is released.
hands_over() {
  rm -f "$T/go" "$T/in"
  spawn first "$1" run --ttl 2s a -- sh -c 'touch "$0/in"; until [ -e "$0/go" ]; do sleep 0.02; done' "$T"
  eventually 10s test -e "$T/in"
  spawn second "$2" run -w 60 a -- true
  sleep 3
  run -75 "$2" run -n a -- touch "$MARKER"
  [ ! -s "$T/second.end" ] || fail "it did not wait"
  touch "$T/go"
  ends 10s first "exit 0"
  ends 10s second "exit 0"
  assert_not_started
}
revokes() {
  spawn held "$1" run --ttl 20s a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  run -0 "$2" force-release --yes a
  ends 25s held "exit 79"
  rm -f "$TICKS"
}
# tokens_grow PROGRAM…: from one run to the next.
tokens_grow() {
  local program last=0
  for program; do
    run -0 --separate-stderr "$program" run a -- sh -c 'echo "$DLOCK_TOKEN"'
    [ "$output" -gt "$last" ] || fail "token $output after $last"
    last=$output
  done
}
beside_each_other() {
  holds_against "$OLD" "$DLOCK"
  holds_against "$DLOCK" "$OLD"
  hands_over "$OLD" "$DLOCK"
  hands_over "$DLOCK" "$OLD"
  revokes "$OLD" "$DLOCK"
  revokes "$DLOCK" "$OLD"
}
in_all_modes() {
  shares_with "$OLD" "$DLOCK"
  shares_with "$DLOCK" "$OLD"
}

# bats test_tags=nightly
@test "an earlier dlock beside this one: redis" {
  beside_each_other
  in_all_modes
  tokens_grow "$OLD" "$DLOCK" "$OLD" "$DLOCK"
}

# bats test_tags=nightly
@test "an earlier dlock beside this one: local" {
  export DLOCK_URL=local://$T/locks
  beside_each_other
  tokens_grow "$OLD" "$DLOCK" "$OLD" "$DLOCK"
}

# bats test_tags=nightly
@test "an earlier dlock beside this one: sqlite" {
  export DLOCK_URL=sqlite://$T/locks.db
  beside_each_other
  in_all_modes
  tokens_grow "$OLD" "$DLOCK" "$OLD" "$DLOCK"
}

# bats test_tags=nightly
@test "an earlier dlock beside this one: postgresql" {
  start_postgres
  beside_each_other
  in_all_modes
  tokens_grow "$OLD" "$DLOCK" "$OLD" "$DLOCK"
}

# bats test_tags=nightly
@test "an earlier dlock beside this one: mysql" {
  start_mariadb
  beside_each_other
  in_all_modes
  tokens_grow "$OLD" "$DLOCK" "$OLD" "$DLOCK"
}

# bats test_tags=nightly
@test "an earlier dlock beside this one: etcd" {
  start_etcd
  beside_each_other
  in_all_modes
  tokens_grow "$OLD" "$DLOCK" "$DLOCK"
}

# bats test_tags=nightly
@test "an earlier dlock beside this one: zookeeper" {
  start_zookeeper
  beside_each_other
  in_all_modes
  tokens_grow "$OLD" "$DLOCK" "$DLOCK"
}
