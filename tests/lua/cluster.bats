#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the scripts for a cluster do the same, with sharded messages, and a waiter whose
# subscription has not followed its slot yet keeps its place.
load ../support/suite
suite server empty lua

setup() {
  set_up
  export PLACE=cluster
}

@test "in a cluster every script has one key more, which is never made" {
  run -0 acquire h:1 s
  assert_line -n 0 granted
  stand a:1 s
  run -0 renew h:1 s
  assert_output renewed
  leave a:1 s
  run -0 inspect
  assert_line -n 0 hash
  run -0 release h:1 s 0 60000
  assert_line -n 0 released
  run -0 run_script forget 1 "$D"
  assert_line -n 0 forgotten
  acquire h:1 s
  run -0 revoke me 1
  assert_line -n 0 deleted
  assert_equal "$(r keys '*never*')" ""
  assert_equal "$(r exists "$K")" 0
}

@test "in a cluster the messages are sharded: no other node gets them" {
  [ -n "$(r command info ssubscribe)" ] || skip "Redis 6.2 has no sharded messages"
  redis-cli -s "$REDIS_SOCKET" ssubscribe "${TURN}a:1#s" "$C" >"$BATS_TEST_TMPDIR/heard" 3>&- &
  export HOLDER=$!
  eventually 5s two_subscribed
  acquire h:1 s
  stand a:1 s
  release h:1 s
  eventually 5s grep -qx turn "$BATS_TEST_TMPDIR/heard"
  eventually 5s grep -qx 0 "$BATS_TEST_TMPDIR/heard"
}
two_subscribed() { [ "$(grep -c ssubscribe "$BATS_TEST_TMPDIR/heard")" = 2 ]; }

@test "in a cluster a waiter that tried lately is not dead for its silence; another one is" {
  acquire h:1 s
  stand dead:1 s
  stand a:1 s
  stand b:1 s
  r zincrby "$W" -5000 "$(waiter dead:1 s)"
  release h:1 s
  assert_equal "$(in_line)" "a:1 b:1"
  # Its turn lasts as long as it may take to come, and it is still the first then.
  [ "$(r zscore "$W" "$(waiter a:1 s)")" -gt $(($(r time | head -1) * 1000 + 5000)) ]
  assert_equal "$(first "$(stand b:1 s)")" busy
  run -0 stand a:1 s
  assert_line -n 0 granted
}
