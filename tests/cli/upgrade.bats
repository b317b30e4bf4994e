#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: hosts are upgraded one by one. An earlier dlock and this one exclude each other, stand in one
# line, hand over, nest, see and revoke each other, and tokens grow, on every store.
# So do 0.1.0 and this one, but 0.1.0 has no line, no revocation of a newer holder, and only Redis and local.
# Both are built from their commits, once, into build/before and build/first; DLOCK_BEFORE and DLOCK_FIRST
# name other programs.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server cli supervise ticker line store_cases databases etcd zookeeper

# The last one before records had a layout. A release takes its place once there is one.
BEFORE=592fd6c1769e6aa88c5034c3dc177575644be169
# Version 0.1.0.
FIRST=0f07a4b4265953b67025609957db8de44ed94006

# built COMMIT PLACE: builds the dlock of that commit, unless it is there.
built() {
  local commit=$1 place=$2
  [ "$(cat "$place/commit" 2>/dev/null)" != "$commit" ] || return 0
  git -C "$PROJECT" cat-file -e "$commit^{commit}" 2>/dev/null || {
    echo "commit $commit is not in this clone, so there is no earlier dlock to run: git fetch --unshallow" >&2
    return 1
  }
  rm -rf "$place"
  mkdir -p "$place/tree"
  git -C "$PROJECT" archive "$commit" | tar -x -C "$place/tree"
  (
    cd "$place/tree" || exit 1
    [ -z "$(command -v ccache)" ] || export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
    timeout 1500 sh -c 'cmake --preset dev && cmake --build --preset dev --target dlock'
  ) >"$place/log" 2>&1 3>&- || { tail -n 20 "$place/log" >&2; return 1; }
  echo "$commit" >"$place/commit"
}
setup_file() {
  local before=${DLOCK_BEFORE:-} first=${DLOCK_FIRST:-} place=$PROJECT/build
  set_up_file
  if grep -qs '^VERSION_ID="12"' /etc/os-release; then
    [ -n "$before" ] || { built "$BEFORE" "$place/before" && before=$place/before/tree/build/dev/dlock; } || return 1
    [ -n "$first" ] || { built "$FIRST" "$place/first" && first=$place/first/tree/build/dev/dlock; } || return 1
  fi
  export OLD=$before OLDEST=$first
}
setup() {
  local program=$OLD
  [[ $BATS_TEST_DESCRIPTION != "version 0.1.0 "* ]] || program=$OLDEST
  [ -n "$program" ] ||
    skip "the earlier dlocks build on Debian 12 only; DLOCK_BEFORE and DLOCK_FIRST name some that run here"
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
# excludes_modes_of PLAIN MODES: PLAIN has the plain lock only.
excludes_modes_of() {
  local mode
  for mode in -x -s '--slots 1'; do
    # shellcheck disable=SC2086  # words
    run -75 "$1" run m -- env -u DLOCK_HOLDS "$2" run -n $mode m -- touch "$MARKER"
    # shellcheck disable=SC2086  # words
    run -75 "$2" run $mode m -- env -u DLOCK_HOLDS "$1" run -n m -- touch "$MARKER"
  done
  assert_not_started
}
# Renewals go on for more than a lease after the order; then the lock is deleted.
does_not_revoke() {
  local seen
  spawn held "$1" run --ttl 2s a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  run "$2" force-release --yes a
  sleep 3
  seen=$(wc -l <"$TICKS")
  eventually 5s more_ticks_than "$seen"
  [ ! -s "$T/held.end" ] || fail "it was stopped: $(cat "$T/held.err")"
  run -0 "$2" force-release --now --yes a
  ends 10s held "exit 79"
  rm -f "$TICKS"
}
more_ticks_than() { [ "$(wc -l <"$TICKS")" -gt "$1" ]; }
# A frozen waiter keeps its place: a dlock that stands in the line gets the lock only when that place is gone.
overtakes() {
  hold b
  spawn second "$1" run -w 60 b -- true
  eventually 10s test -s "$T/second.err"
  new_line
  stand b 1
  stands b 1 || fail "it stands in the line"
  kill -KILL "$second_pid"
  kill -STOP "${WAITERS[1]}"
  let_go
  run -0 "$1" run -n b -- true
  stands b 1 || fail "the waiter has lost its place"
  kill -CONT "${WAITERS[1]}"
  eventually 10s entered 1
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

# bats test_tags=nightly
@test "version 0.1.0 beside this one: redis" {
  run -0 "$OLDEST" --version
  assert_output --partial 0.1.0
  holds_against "$OLDEST" "$DLOCK"
  holds_against "$DLOCK" "$OLDEST"
  excludes_modes_of "$OLDEST" "$DLOCK"
  hands_over "$OLDEST" "$DLOCK"
  hands_over "$DLOCK" "$OLDEST"
  tokens_grow "$OLDEST" "$DLOCK" "$OLDEST" "$DLOCK"
}

# bats test_tags=nightly
@test "version 0.1.0 beside this one: it does not stand in the line" { overtakes "$OLDEST"; }

# bats test_tags=nightly
@test "version 0.1.0 beside this one: force-release stops a holder of the other only with --now" {
  does_not_revoke "$OLDEST" "$DLOCK"
  does_not_revoke "$DLOCK" "$OLDEST"
}

# bats test_tags=nightly
@test "version 0.1.0 beside this one: local, read by this one and then refused by 0.1.0 until deleted" {
  export DLOCK_URL=local://$T/locks
  run -75 "$OLDEST" run a -- env -u DLOCK_HOLDS "$DLOCK" run -n a -- touch "$MARKER"
  hands_over "$OLDEST" "$DLOCK"
  run -69 "$OLDEST" run -n a -- touch "$MARKER"
  assert_output --partial "is damaged"
  assert_not_started
  rm "$T"/locks/*
  run -0 "$OLDEST" run -n a -- true
}
