#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock by redis+cluster:// and Redisson in the same cluster keep each other out, and wake
# each other, whichever master has the slot of the lock.
# clients: redisson-4.7.0
# others: older versions of Redisson and other libraries publish to all nodes, or know no cluster
# alone: yes
# nightly: yes
# shellcheck disable=SC2034  # K is read in sets.bash

load ../support/suite
suite cli supervise cluster
load interop
load sets

setup_file() {
  clean_environment
  start_cluster "$BATS_FILE_TMPDIR/nodes"
  keep_cluster
  start_client "$DLOCK_URL"
}
teardown_file() {
  end_driver "$BATS_FILE_TMPDIR/client"
  find_cluster
  stop_cluster
}

each_time() {
  N=t$BATS_TEST_NUMBER-$1 K=dlock:$N
  find_cluster
  OWNER=$(owner_of "$N")
  echo "$OWNER" >>"$T/owners"
}
r() { node "$OWNER" "$@"; }
# Messages of a slot go to those who listen at its owner.
watched_by() { [ "$(r pubsub shardnumsub "$(channel)" | tail -1)" -ge "$1" ]; }
at_several_masters() { [ "$(sort -u "$T/owners" | wc -l)" -gt 1 ]; }

@test "in the same cluster: dlock is kept out by Redisson, and woken by its release" {
  dlock_is_excluded_and_woken cluster
  at_several_masters
}

@test "in the same cluster: Redisson is kept out by dlock, and woken by its release" {
  they_are_excluded_and_woken cluster
  at_several_masters
}
