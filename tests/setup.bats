#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: ./dev installs only what a suite needs and names a server that is missing; a warning of the
# compiler stops a gate, and no one else.
bats_require_minimum_version 1.5.0

setup() {
  bats_load_library bats-support
  bats_load_library bats-assert
  cd "$BATS_TEST_DIRNAME/.." || return 1
}

# would_install SUITE…: the packages that ./dev test installs for them where none is installed. What
# would change the machine is a stand-in.
would_install() {
  local bin=$BATS_TEST_TMPDIR/bin
  mkdir -p "$bin"
  printf '#!/bin/sh\n' | tee "$bin/dpkg-query" >"$bin/apt-get"
  printf '#!/bin/sh\necho 1000\n' >"$bin/id"
  # shellcheck disable=SC2016  # of the stand-in
  printf '#!/bin/sh\ncase $* in *install*) exit 1; esac\n' >"$bin/sudo"
  chmod +x "$bin"/*
  PATH=$bin:$PATH run -2 ./dev test "$@"
  assert_line --partial "dev: cannot install the packages"
}
@test "a suite installs only what its tests need" {
  would_install unit
  assert_line --regexp '^  .*doctest-dev: '
  refute_output --regexp 'redis-server|mariadb-server|postgresql|etcd-server|jre|bats|clang'
  would_install docs
  assert_line --regexp '^  bats .*'
  assert_line --regexp '^  mandoc .*'
  assert_line --regexp '^  redis-server '
  assert_line --regexp '^  openssh-client: '
  assert_line --regexp '^  nodejs: '
  refute_output --regexp 'mariadb-server|postgresql|etcd-server|jre'
  would_install cli/etcd
  assert_line --regexp '^  etcd-server etcd-client: '
  assert_line --regexp '^  redis-server '
  refute_output --regexp 'mariadb-server|postgresql|jre'
  would_install contract
  for server in redis-server mariadb-server postgresql etcd-server 'libzookeeper-java default-jre-headless'; do
    assert_line --regexp "^  $server.*: "
  done
  refute_output --partial 'bats'
}

@test "elsewhere refuses what is no release of Debian or no word of it" {
  run -2 ./dev elsewhere
  run -2 bash packaging/elsewhere.sh ../trixie
  assert_line "elsewhere: which release of Debian? bookworm, trixie or sid"
  run -2 bash packaging/elsewhere.sh trixie --old
  run -0 shellcheck -x packaging/elsewhere.sh
}

# counted TAP-LINE…: what ./dev says of a suite that has said this.
counted() {
  # shellcheck source=tests/run.bash
  . tests/run.bash
  out=$BATS_TEST_TMPDIR/out pattern=""
  export pattern
  mkdir -p "$out"
  printf '%s\n' "$@" >"$out/suite.tap"
  end_of suite 0
  sum_up
}
@test "a server that is not installed is named, and is one failure of its file" {
  local text="no etcd installed (package etcd-server)"
  run -1 counted 1..40 "not ok 1 setup_file failed" "# (from function start_etcd)" "# $text"
  assert_line "failed: suite: $text"
  assert_equal "${lines[-1]}" "0 passed, 1 failed"
  run -1 counted 1..3 "not ok 1 leases" "# lock_store_contract.cpp:9: ERROR: $text" "ok 2 a" "ok 3 b"
  assert_line "failed: suite: $text"
  assert_equal "${lines[-1]}" "2 passed, 1 failed"
}

@test "warnings are errors in a gate, and not for who builds with a preset or with plain cmake" {
  echo 'push 9 printenv WERROR' >"$BATS_TEST_TMPDIR/budget"
  DLOCK_CI_BUDGET=$BATS_TEST_TMPDIR/budget DLOCK_CI_LOGS=$BATS_TEST_TMPDIR/logs run -0 .ci/run
  assert_line ON
  WERROR=ON run -0 cmake --preset lint -B "$BATS_TEST_TMPDIR/strict"
  run -0 grep -qE -- '-Werror( |$)' "$BATS_TEST_TMPDIR/strict/build.ninja"
  WERROR="" run -0 cmake --preset lint -B "$BATS_TEST_TMPDIR/strict"
  run -1 grep -qE -- '-Werror( |$)' "$BATS_TEST_TMPDIR/strict/build.ninja"
  # A folder that a developer has configured is configured again by the gate.
  eval "$(sed -n '/^configured() {/,/^}/p' dev)"
  cd "$BATS_TEST_TMPDIR" && mkdir -p build && mv strict build/lint
  WERROR="" configured lint
  WERROR=ON run -1 configured lint
}
