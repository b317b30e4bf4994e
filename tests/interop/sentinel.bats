#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock by redis+sentinel:// and Redisson by the same sentinels keep each other out, and wake
# each other.
# clients: redisson-4.7.0
# others: one version of Redisson is enough for what only depends on the set; the rest knows no set
# alone: yes
# nightly: yes

load ../support/suite
suite cli supervise replicas sentinels
load interop
load sets

setup_file() {
  clean_environment
  T=$BATS_FILE_TMPDIR/set
  mkdir "$T"
  start_set 1
  echo "${SET_PIDS[@]}" >"$BATS_FILE_TMPDIR/pids"
  export REDIS_SOCKET=$T/0.sock
  start_sentinels
  echo "${SENTINEL_PIDS[@]}" >>"$BATS_FILE_TMPDIR/pids"
  start_client "$DLOCK_URL"
}
teardown_file() {
  end_driver "$BATS_FILE_TMPDIR/client"
  xargs kill -KILL <"$BATS_FILE_TMPDIR/pids"
}

@test "on the same sentinels: dlock is kept out by Redisson, and woken by its release" {
  dlock_is_excluded_and_woken sentinels
}

@test "on the same sentinels: Redisson is kept out by dlock, and woken by its release" {
  they_are_excluded_and_woken sentinels
}
