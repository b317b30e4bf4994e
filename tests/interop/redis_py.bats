#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: what only redis-py does: locks without an end, and questions that a hash does not answer.
# clients: redis-py
# others: their locks always have an end, and they have no such questions
# shellcheck disable=SC2154,SC2016,SC2034  # *_pid are set by spawn; inner shells; evals

load ../support/suite
suite supervise
load interop

@test "a lock without an end is waited for, also when its client is dead; --now ends it" {
  another_client
  asked acquired x lock "$K" none
  [ "$(inspected 'lock["lease_left_ms"]')" = None ]
  dlock_waits
  crash_driver "$CLIENT"
  eventually 20s grep -q 'without expiry' "$T/b.err"
  run ! entered
  "$DLOCK" force-release --yes --now "$N"
  ends 20s b "exit 0"
}

@test "locked() and owned() raise while dlock holds, as of anything not a string" {
  dlock_holds --ttl 20s
  asked "error ResponseError" x locked "$K"
  asked "error ResponseError" x owned "$K"
  let_go
  ends 20s a "exit 0"
  asked False x locked "$K"
}
