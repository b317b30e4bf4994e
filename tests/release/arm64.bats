#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the program in the .deb for arm64 does what that for amd64 does. It runs under qemu, which
# stands in for the kernel's system calls: ptrace, cgroups and seccomp are not there, so --contain, and
# what the suites learn from strace, are shown on amd64 only. ./dev release test arm64
# shellcheck disable=SC2016  # for the inner shells
load ../support/suite
suite server cli tls

setup_file() {
  local deb=("$PROJECT"/build/files/dlock_*_arm64.deb)
  export NATIVE=$DLOCK ARM=$BATS_FILE_TMPDIR/deb/usr/bin/dlock
  [ ! -e "${deb[0]}" ] || dpkg-deb -x "${deb[0]}" "$BATS_FILE_TMPDIR/deb"
  export DLOCK=$BATS_FILE_TMPDIR/dlock
  printf '#!/bin/sh\nexec qemu-aarch64-static "%s" "$@"\n' "$ARM" >"$DLOCK"
  chmod +x "$DLOCK"
  set_up_file
  bats_load_library bats-support
  make_ca ca
  make_certificate here ca "$HERE"
  rm "$TLS/ca.key"
}
setup() {
  set_up
  [ -x "$ARM" ] || fail "there is no .deb for arm64: ./dev release"
}
teardown() {
  [ -z "${TLS_PID:-}" ] || end_ours "$TLS_PID"
  clean_up
}

@test "it is one static file for arm64" {
  run -0 file -b "$ARM"
  assert_output --partial "ARM aarch64"
  assert_output --partial "statically linked"
  run -126 "$ARM" --version # nothing hands it to qemu by itself, or the tests show less than they say
}

@test "its version, and the libraries in it, are those of its list" {
  run -0 "$DLOCK" -v --version
  assert_line --index 0 "$("$NATIVE" --version)"
  assert_equal "$(sed '1,/^built with/d' <<<"$output")" \
    "$(awk -F '|' '{ print $1, $3 }' "$PROJECT/build/release-arm64/libraries.txt")"
}

@test "the unit tests pass" {
  run -0 qemu-aarch64-static -L "$PROJECT/build/root-arm64" "$PROJECT/build/release-arm64/tests/unit_tests" --no-colors=true
  [[ $output =~ test\ cases:\ +([0-9]+)\ \|\ +([0-9]+)\ passed\ \|\ 0\ failed ]]
  [ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ] && [ "${BASH_REMATCH[2]}" -ge 700 ]
}

# tried URL [OPTION…]: a run with a status and a token, a nested run, a refusal, a wait, an end. qemu is
# slow, so dlock may say on stderr that an answer is late.
tried() {
  export DLOCK_URL=$1
  local options=("${@:2}") lock
  lock=$(fresh)
  run -7 --separate-stderr "$DLOCK" run "${options[@]}" "$lock" -- sh -c '[ "$DLOCK_TOKEN" -gt 0 ] && exit 7'
  assert_output ""
  run -0 --separate-stderr "$DLOCK" run "${options[@]}" "$lock" -- "$DLOCK" run "${options[@]}" "$lock" -- echo nested
  assert_output nested
  hold "$lock" "${options[@]}"
  run -75 "$DLOCK" run -n "${options[@]}" "$lock" -- true
  run -0 "$DLOCK" inspect "${options[@]}" --json "$lock"
  assert_output --partial "\"pid\": $HOLDER"
  "$DLOCK" run "${options[@]}" --wait 30s "$lock" -- touch "$BATS_TEST_TMPDIR/later" 3>&- &
  let_go
  wait $!
  [ -e "$BATS_TEST_TMPDIR/later" ]
}
@test "runs, nested runs, refusals and waits: Redis" { tried "$DLOCK_URL"; }
@test "runs, nested runs, refusals and waits: SQLite" { tried "sqlite://$BATS_TEST_TMPDIR/locks.db"; }
@test "runs, nested runs, refusals and waits: a directory" {
  mkdir -m 700 "$BATS_TEST_TMPDIR/locks"
  tried "local://$BATS_TEST_TMPDIR/locks"
}
@test "runs, nested runs, refusals and waits: Redis with TLS" {
  tls_redis here
  tried "$DLOCK_URL" --cacert "$TLS/ca.crt"
  run -69 "$DLOCK" run --wait 1s "$(fresh other)" -- true # a certificate of a CA that it does not know
  assert_output --partial certificate
}

@test "the program for amd64 and that for arm64 exclude each other" {
  local lock
  lock=$(fresh)
  hold "$lock"
  run -75 "$NATIVE" run -n "$lock" -- true
  let_go
}

@test "TERM goes to the command, and dlock ends as the command did" {
  "$DLOCK" run "$(fresh)" -- sh -c 'trap "exit 5" TERM; touch "$0"; while :; do sleep 0.1; done' \
    "$BATS_TEST_TMPDIR/up" 3>&- &
  HOLDER=$!
  eventually 10s test -e "$BATS_TEST_TMPDIR/up"
  kill -TERM "$HOLDER"
  rc=0
  wait "$HOLDER" || rc=$?
  assert_equal $rc 5
}

@test "when dlock is killed its guard kills the command, before the lease ends" {
  local lock
  lock=$(fresh)
  "$DLOCK" run --ttl 5s "$lock" -- sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec sleep 60' \
    "$BATS_TEST_TMPDIR/pid" 3>&- &
  HOLDER=$!
  eventually 10s test -e "$BATS_TEST_TMPDIR/pid"
  kill -KILL "$HOLDER"
  eventually 5s gone "$(cat "$BATS_TEST_TMPDIR/pid")"
  run -0 "$DLOCK" run --wait 10s "$lock" -- true
}
