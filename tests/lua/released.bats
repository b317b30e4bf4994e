#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the release of a hold of acquire is noted, so that a claim that relies on the hold can tell
# a release from a loss.
# shellcheck disable=SC2034,SC2086  # what lua.bash reads; words
load ../support/suite
suite server empty lua

setup() {
  set_up
  TTL=60000
}

@test "the release of a hold of acquire is noted for a day, and that of a run is not" {
  acquire a:1 s
  run -0 release a:1 s
  assert_equal "$(r exists "$RELEASED")" 0
  for how in "" writing shared "slots 2"; do
    r del "$RELEASED"
    $how acquire b:1 "$STEP"
    run -0 $how release b:1 "$STEP"
    assert_line -n 0 released
    assert_equal "$(r zrange "$RELEASED" 0 -1)" "b:1#$STEP"
    ttl_between "$RELEASED" 86300000 86400000
    run -0 $how release b:1 "$STEP"
    assert_output not_held
  done
  # Nothing is noted of a hold that was lost.
  r del "$RELEASED"
  run -0 release c:1 "$STEP"
  assert_output not_held
  acquire c:1 "$STEP"
  r del "$K"
  run -0 release c:1 "$STEP"
  assert_output not_held
  assert_equal "$(r exists "$RELEASED")" 0
}

@test "acquire 'lost': a hold that it relies on was revoked, deleted, or overtaken; nothing is changed" {
  acquire a:1 "$STEP"
  run -0 relying_on "a:1#$STEP" acquire me:2 t 60000 a:1 "$STEP"
  assert_line -n 0 granted
  release a:1 t
  r hset "$R" a:1 ann
  before=$(dump_all)
  run -0 relying_on "a:1#$STEP" acquire me:2 u 60000 a:1 "$STEP"
  assert_output $'lost\n0'
  assert_equal "$(dump_all)" "$before"
  r del "$K" "$H" "$R"
  before=$(dump_all)
  run -0 relying_on "a:1#$STEP" stand_polling me:2 u 60000 a:1 "$STEP"
  assert_output $'lost\n0'
  assert_equal "$(dump_all)" "$before"
  acquire b:1 s
  before=$(dump_all)
  run -0 relying_on "a:1#$STEP" stand_polling me:2 u 60000 a:1 "$STEP"
  assert_output $'lost\n0'
  run -0 wanted_once 60000 relying_on "a:1#$STEP" acquire me:2 u 60000 a:1 "$STEP"
  assert_output $'lost\n0'
  assert_equal "$(dump_all)" "$before"
  r zadd "$RELEASED" 1 "a:1#$STEP"
  run -0 relying_on "a:1#$STEP" acquire me:2 u 60000 a:1 "$STEP"
  assert_line -n 0 busy
}

@test "a foreign key where releases are noted: the release goes on, and nothing counts as released" {
  for call in "r set $RELEASED x" "r rpush $RELEASED theirs"; do
    r del "$RELEASED"
    $call
    acquire a:1 "$STEP"
    run -0 release a:1 "$STEP"
    assert_line -n 0 released
    assert_equal "$(r exists "$K" "$H")" 0
    run -0 relying_on "a:1#$STEP" acquire me:2 u 60000 a:1 "$STEP"
    assert_output $'lost\n0'
    run -0 renew a:1 "$STEP"
    assert_line -n 0 lost
  done
}

@test "a claim that relies on nothing, and a release of a run, cost no command for it" {
  alone() { acquire a:1 s && release a:1 s; }
  with_step() { acquire a:1 "$STEP" && release a:1 "$STEP"; }
  r flushall
  plain=$(calls alone)
  r flushall
  assert_equal $(($(calls with_step) - plain)) 4 # TIME, ZADD, ZRANGE, PEXPIRE
}
