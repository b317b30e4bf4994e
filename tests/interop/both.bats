#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock and the locks of other libraries keep each other out, and pass a lock on to each
# other, whoever holds, waits or crashes.
# clients: redisson-4.7.0 redisson-3.27.2 node-redisson redlock5 redlock4 redis-py redsync
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells

load ../helpers
load ../helpers/supervise
load interop

setup_file() { start_clients; }
teardown_file() { stop_clients; }
setup() { prepare; }
teardown() { clean_up; }

@test "they hold: dlock waits, and gets in after their release" {
  asked acquired x lock "$K" 60000
  dlock_is_refused
  dlock_waits
  run ! entered
  asked released x unlock "$K"
  ends 20s b "exit 0"
  not_before "$(cat "$T/b.began")" "$(time_of x unlock "$K")"
  assert_free "$N"
}
