#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a nested run gets what the hold of its ancestor allows, and shares its slot.
# shellcheck disable=SC2034,SC2086  # what lua.bash reads; words
load ../support/suite
suite server empty lua

setup() {
  set_up
  TTL=60000
}

@test "the answer to a nested claim below each mode" {
  # above, wanted; then the owner's field and its count, or own
  while IFS=, read -r above wanted field count; do
    r flushall
    $above acquire a:1 s
    answer=$($wanted acquire me:2 t 100000 a:1 s)
    if [ "$field" = own ]; then
      assert_equal "$above $wanted: $(busy_end "$answer")" "$above $wanted: 0 0 -1 1"
      assert_equal "$(r hlen "$H")" 1
    else
      assert_equal "$above $wanted: $(head -n 2 <<<"$answer" | xargs)" "$above $wanted: granted a:1"
      assert_equal "$above $wanted: $field $(r hget "$K" "$field")" "$above $wanted: $field $count"
      assert_equal "$(token a:1 t)" "$(token a:1 s)"
    fi
  done <<'END'
,,a:1,2
,writing,a:1,2
,shared,a:1,2
,slots 3,own
writing,,a:1:write,2
writing,writing,a:1:write,2
writing,shared,a:1,1
writing,slots 3,own
shared,,own
shared,writing,own
shared,shared,a:1,2
shared,slots 3,own
slots 3,,own
slots 3,writing,own
slots 3,shared,own
slots 3,slots 3,a:1,2
slots 3,slots 4,own
END
}

@test "a nested slot is the ancestor's; of two leases of one owner the longest counts" {
  slots 3 acquire x:1 s
  slots 3 acquire a:1 s
  slots 3 acquire me:2 t 200000 a:1 s
  assert_equal "$(slot a:1) $(slot a:1 t)" "1 1"
  ttl_between "$(lease a:1 1)" 20000 60000
  ttl_between "$(lease a:1 2)" 150000 200000
  r del "$(lease a:1 1)"
  run -0 slots 3 renew a:1 s 150000
  assert_output renewed
  ttl_between "$(lease a:1 1)" 100000 150000
  run -0 slots 3 release a:1 t
  assert_output still_held
  assert_equal "$(r exists "$(lease a:1 2)") $(r hget "$K" a:1)" "0 1"
}
