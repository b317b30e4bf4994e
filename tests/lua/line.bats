#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a lock goes to the first living waiter of its line; who is dead or does not come costs at
# most a second; and whatever stands at the keys of the line, a release frees the lock.
# shellcheck disable=SC2086  # words
load ../support/suite
suite server empty lua subscribers

setup() {
  set_up
  SUBSCRIBERS=()
}
teardown() {
  local pid
  for pid in "${SUBSCRIBERS[@]}"; do kill "$pid" 2>/dev/null || true; done
  clean_up
}

@test "a waiter has a place, in the order of arrival, and keeps it" {
  acquire h:1 s
  run -0 stand a:1 s
  assert_line -n 0 busy
  assert_equal "$(place_of "$output")" 1
  assert_equal "$(place_of "$(stand b:1 s)")" 2
  assert_equal "$(place_of "$(stand c:1 s)")" 3
  before=$(r zrange "$L" 0 -1 withscores)
  assert_equal "$(place_of "$(stand a:1 s)")" 1
  assert_equal "$(place_of "$(stand b:1 s)")" 2
  assert_equal "$(r zrange "$L" 0 -1 withscores)" "$before"
  assert_equal "$(in_line)" "a:1 b:1 c:1"
  ttl_between "$L" 50000 60000
  ttl_between "$W" 50000 60000
}

@test "a waiter that asks again lives for ten seconds more" {
  acquire h:1 s
  stand a:1 s
  left=$(life a:1)
  [ "$left" -gt 7000 ] && [ "$left" -le 10000 ]
  r zadd "$W" 1 "$(waiter b:1 s)"
  r zincrby "$W" -9000 "$(waiter a:1 s)"
  stand a:1 s
  [ "$(life a:1)" -gt 7000 ]
}

@test "a claim that does not wait has no place and leaves no trace" {
  acquire h:1 s
  run -0 acquire a:1 s
  assert_equal "$(place_of "$output")" 0
  assert_equal "$(r exists "$L" "$W")" 0
}

@test "a place is behind the last one, whatever the clock says" {
  acquire h:1 s
  r zadd "$L" 8000000000000000 "$(waiter a:1 s)"
  r zadd "$W" 8000000000000000 "$(waiter a:1 s)"
  assert_equal "$(place_of "$(stand b:1 s)")" 2
  assert_equal "$(r zscore "$L" "$(waiter b:1 s)")" 8000000000000001
}

@test "no more wait than the claim allows; a waiter keeps the place that it has" {
  acquire h:1 s
  assert_equal "$(place_of "$(acquire_as "$(waiter a:1 s)" 0 a:1 s)")" 0
  assert_equal "$(place_of "$(acquire_as "$(waiter a:1 s)" 1 a:1 s)")" 1
  run -0 acquire_as "$(waiter b:1 s)" 1 b:1 s
  assert_equal "$(place_of "$output")" 0
  assert_equal "$(place_of "$(acquire_as "$(waiter a:1 s)" 0 a:1 s)")" 1
  assert_equal "$(in_line)" a:1
}

@test "a free lock is only for the first waiter" {
  queue a:1 b:1
  r del "$K" "$H"
  for who in x:1 b:1; do
    run -0 acquire "$who" t
    assert_line -n 0 busy
    assert_line -n 1 none
  done
  run -0 stand b:1 s
  assert_line -n 0 busy
  run -0 stand n:1 s
  assert_line -n 0 busy
  assert_equal "$(in_line)" "a:1 b:1 n:1"
  run -0 stand a:1 s
  assert_line -n 0 granted
  assert_equal "$(in_line)" "b:1 n:1"
  assert_equal "$(r zcard "$W")" 2
}

@test "release sends the first waiter its turn, the second 'next', and no other a message" {
  queue a:1 b:1 c:1
  run -0 release h:1 s
  assert_line -n 0 released
  assert_equal "$(received a:1)" turn
  assert_equal "$(received b:1)" next
  assert_equal "$(received c:1)" ""
  left=$(life a:1)
  [ "$left" -le 1000 ]
  [ "$(life b:1)" -gt 5000 ]
}

@test "release finds dead waiters at once: the turn is that of the first living one" {
  acquire h:1 s
  for who in dead:1 dead:2 a:1 dead:3 b:1; do stand "$who" s; done
  subscribe a:1 b:1
  release h:1 s
  assert_equal "$(received a:1)" turn
  assert_equal "$(received b:1)" next
  assert_equal "$(in_line)" "a:1 b:1"
  assert_equal "$(r zcard "$W")" 2
}

@test "a waiter that polls has no subscription and is not taken for dead" {
  acquire h:1 s
  stand_polling p:1 s
  subscribe b:1
  stand b:1 s
  release h:1 s
  assert_equal "$(received b:1)" next
  assert_equal "$(in_line)" "p:1 b:1"
  run -0 stand_polling p:1 s
  assert_line -n 0 granted
}

@test "a dead waiter that waits for others to leave keeps out no claim that has room beside them" {
  for how in shared "slots 3"; do
    r flushall
    $how acquire h:1 s
    stand_polling lives:1 s  # who wants it alone
    stand dead:2 s
    run -0 $how acquire r:3 s
    assert_line -n 0 busy
    assert_equal "$(in_line)" "lives:1 dead:2"
    r zadd "$W" 1 "$(waiter lives:1 s polls)"
    run -0 $how acquire r:3 s
    assert_line -n 0 granted
    assert_equal "$(in_line)" ""
  done
}

@test "a waiter that waits for others to leave is only probed: its time is not cut to a turn" {
  shared acquire h:1 s
  subscribe lives:1
  stand lives:1 s
  run -0 shared acquire r:3 s
  assert_line -n 0 busy
  assert_equal "$(received lives:1)" wait
  [ "$(life lives:1)" -gt 5000 ]
}

@test "the caller is not taken for dead, though it has no subscription at the moment" {
  acquire h:1 s
  subscribe b:1
  for who in dead:1 me:1 b:1; do stand "$who" s; done
  r del "$K" "$H"
  run -0 stand me:1 s
  assert_line -n 0 granted
  assert_equal "$(in_line)" b:1
  stand me:2 s
  stand c:1 s
  r del "$K" "$H"
  run -0 stand me:2 s
  assert_line -n 0 busy
  assert_equal "$(in_line)" "b:1 me:2 c:1"
}

@test "a waiter that does not take its turn within a second is passed over, and is last then" {
  queue frozen:1 b:1 c:1
  release h:1 s
  [ "$(life frozen:1)" -le 1000 ]
  eventually 5s gets_in b:1
  assert_equal "$(in_line)" c:1
  assert_equal "$(place_of "$(stand frozen:1 s)")" 2
  assert_equal "$(in_line)" "c:1 frozen:1"
}
gets_in() { [ "$(first "$(stand "$1" s)")" = granted ]; }

# Lines for redis-cli: a release, many that ask, and the score of WHO behind the first and the last.
asked_at_once() { # WHO
  local ask
  # shellcheck disable=SC2317  # by release and acquire
  run_script() {
    printf "'%s' " EVALSHA "$(r script load "$(script_text "$1")")" "${@:2}" && echo
  }
  release h:1 s
  printf '%s\n' "echo score" "zscore '$W' '$1'"
  ask=$(acquire x:1 t)
  for _ in {1..50}; do echo "$ask"; done
  printf '%s\n' "echo score" "zscore '$W' '$1'"
}
@test "repeated probes do not lengthen a turn" {
  local who over asked since
  who=$(waiter frozen:1 s polls)
  for _ in 1 2 3 4 5; do # on a machine that stands still a turn may be over before anybody asks
    r flushall >/dev/null
    acquire h:1 s >/dev/null
    stand_polling frozen:1 s >/dev/null
    stand_polling b:1 s >/dev/null
    (asked_at_once "$who") >"$BATS_TEST_TMPDIR/lines" # all of it is known before the first is sent
    read -r over asked < <(r <"$BATS_TEST_TMPDIR/lines" | awk '/^score$/ { getline; print }' | xargs)
    [ -z "$asked" ] || break
  done
  assert_equal "$asked" "$over"
  r flushall >/dev/null
  queue frozen:1 b:1
  since=${EPOCHREALTIME/./}
  release h:1 s
  until gets_in b:1; do
    [ $((${EPOCHREALTIME/./} - since)) -lt 8000000 ]
    acquire x:1 t >/dev/null
  done
  [ $((${EPOCHREALTIME/./} - since)) -gt 500000 ]
}

@test "a waiter without a try for ten seconds is out of the line" {
  queue silent:1 b:1
  r zincrby "$W" -11000 "$(waiter silent:1 s)"
  assert_equal "$(place_of "$(stand b:1 s)")" 1
  assert_equal "$(in_line)" b:1
}

@test "leave 'left': the caller's turn passes on; a caller without a place has left as well" {
  queue a:1 b:1 c:1
  assert_equal "$(leave b:1 s)" left
  assert_equal "$(in_line)" "a:1 c:1"
  assert_equal "$(received a:1)" ""
  release h:1 s
  leave a:1 s
  assert_equal "$(received c:1)" "next turn"
  assert_equal "$(leave nobody:1 s)" left
  leave c:1 s
  assert_equal "$(r exists "$L" "$W")" 0
}

@test "a grant removes its waiter from the line, and so does its repetition" {
  queue a:1
  release h:1 s
  run -0 stand a:1 s
  assert_line -n 0 granted
  first=$output
  assert_equal "$(r exists "$L" "$W")" 0
  # As by a copy of an older request that came late.
  r zadd "$L" 1 "$(waiter a:1 s)"
  r zadd "$W" 8000000000000 "$(waiter a:1 s)"
  assert_equal "$(stand a:1 s)" "$first"
  assert_equal "$(r hget "$K" a:1)" 1
  assert_equal "$(r exists "$L" "$W")" 0
}

@test "a grant of any mode removes its waiter from the line" {
  subscribe a:1
  for way in "" shared writing "slots 2"; do
    r flushall >/dev/null
    acquire h:1 s
    # shellcheck disable=SC2086  # words
    $way stand a:1 s
    release h:1 s
    # shellcheck disable=SC2086
    run -0 $way stand a:1 s
    assert_line -n 0 granted
    assert_equal "$(r exists "$L" "$W")" 0
  done
}

@test "a nested claim passes the line, and is out of it" {
  queue a:1
  run -0 acquire me:2 t 10000 h:1 s
  assert_line -n 0 granted
  assert_line -n 1 h:1
  release h:1 t
  stand me:2 u  # when it did not know yet
  run -0 acquire_as "$(waiter me:2 u)" '' me:2 u 10000 h:1 s
  assert_line -n 0 granted
  assert_equal "$(in_line)" a:1
}

@test "inspect shows the waiters in order, and their number; dead ones are left out" {
  queue a:1 b:1
  stand dead:1 s
  r zadd "$W" 1 "$(waiter dead:1 s)"
  before=$(r zrange "$L" 0 -1 withscores)
  run -0 inspect
  assert_line "$(waiter a:1 s)"
  assert_line "$(waiter b:1 s)"
  refute_line "$(waiter dead:1 s)"
  assert_line 2
  assert_equal "$(r zrange "$L" 0 -1 withscores)" "$before"
  fill 1000 10000
  run -0 inspect
  [ "$(grep -c '"id"' <<<"$output")" -le 65 ]
  assert_line 1002
}

@test "revoke 'deleted' by force: the first waiter gets its turn" {
  queue a:1 b:1
  revoke ann 1
  assert_equal "$(received a:1)" turn
  assert_equal "$(received b:1)" next
}

@test "the work of each script is the same for ten and for a thousand waiters" {
  for count in 10 1000; do
    r flushall
    acquire h:1 s
    for call in "stand a:1 s" "stand_polling f:2 s" "acquire x:1 s" "release h:1 s" "acquire x:1 s" \
      "leave f:1 s polls"; do
      fill "$count" 60000 polls  # nobody's turn is over before the next one
      # shellcheck disable=SC2086
      calls $call
    done >"$BATS_TEST_TMPDIR/work-$count"
  done
  assert_equal "$(cat "$BATS_TEST_TMPDIR/work-1000")" "$(cat "$BATS_TEST_TMPDIR/work-10")"
  while read -r work; do
    [ "$work" -gt 5 ] && [ "$work" -lt 60 ]
  done <"$BATS_TEST_TMPDIR/work-10"
}

@test "three thousand dead waiters are removed a thousand at a time" {
  for life in 10000 -1; do # without a subscription, or silent for too long
    r flushall
    acquire h:1 s
    fill 3000 "$life"
    work=$(calls release h:1 s)
    [ "$work" -gt 2000 ] && [ "$work" -lt 8000 ] || fail "$work commands"
    left=$(r zcard "$L")
    [ "$left" -ge 1000 ] && [ "$left" -le 2000 ] || fail "$left left"
    eventually 20s gets_in x:1
  done
}

@test "another type at a key of the line: release frees the lock, acquire says what is wrong" {
  for key in "$L" "$W"; do
    r flushall
    acquire h:1 s
    stand a:1 s
    r del "$key"
    r set "$key" theirs
    run -0 release h:1 s
    assert_line -n 0 released
    assert_equal "$(r exists "$K" "$H")" 0
    before=$(dump_all)
    run stand a:1 s
    assert_output --partial WRONGTYPE
    assert_equal "$(r exists "$K" "$H")" 0
    assert_equal "$(r get "$key")" theirs
  done
}

@test "one of the two keys is deleted: no waiter is lost, and dead ones do not stay" {
  for key in "$L" "$W"; do
    r flushall
    queue a:1 b:1
    stand dead:1 s
    r del "$key"
    stand a:1 s
    stand b:1 s
    assert_regex "$(in_line)" '^a:1 b:1'
    # Whose turn it is has a second for it.
    release h:1 s
    run -0 stand a:1 s
    assert_line -n 0 granted
    assert_equal "$(received a:1 | tail -n 1)" turn
    release a:1 s
    run -0 stand b:1 s
    assert_line -n 0 granted
    release b:1 s
    # Nobody stands before a stranger now.
    eventually 5s gets_in x:1
    assert_equal "$(in_line)" ""
    for pid in "${SUBSCRIBERS[@]}"; do kill "$pid"; done
    SUBSCRIBERS=()
  done
}

@test "PUBLISH refused: the lock is free all the same, and the first has its turn" {
  acquire h:1 s
  stand_polling p:1 s
  stand_polling q:1 s
  r acl setuser quiet on nopass '~*' '+@all' '-publish' '&*' >/dev/null
  export BY=quiet
  run -0 release h:1 s
  assert_output released
  assert_equal "$(r exists "$K")" 0
  run -0 stand_polling q:1 s
  assert_line -n 0 busy
  [ "$(life p:1 polls)" -le 1000 ]
  run -0 stand_polling p:1 s
  assert_line -n 0 granted
  assert_equal "$(in_line)" q:1
}
