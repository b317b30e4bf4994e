#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a claim of one of several names takes the first that it could take alone, never two, and
# waits in the lines of all with one place, until it has one.
# shellcheck disable=SC2034  # what lua.bash reads
load ../support/suite
suite server empty lua

setup() {
  set_up
  NAMES=(a b c) TTL=60000
}

# of NAME… -- CALL: with these names.
of() {
  NAMES=()
  while [ "$1" != -- ]; do NAMES+=("$1") && shift; done
  "${@:2}"
  NAMES=(a b c)
}
line_of() { in_line "dlock:line:{dlock:$1}"; }
owners_of() { r hkeys "dlock:$1"; }
# Prints the names that OWNER has.
has() {
  local name
  for name in a b c; do [ "$(r hexists "dlock:$name" "$1")" = 0 ] || printf '%s ' "$name"; done
}
queue() {
  local who
  for who; do one stand_polling "$who" s >/dev/null; done
}
take() {
  local name
  for name; do of "$name" -- acquire "h$name:1" s >/dev/null; done
}
give() {
  local name
  for name; do of "$name" -- release "h$name:1" s >/dev/null; done
}

@test "acquire_one 'granted': the first free name, its number, owner and record, and no other name" {
  take a
  run -0 one acquire o:1 s
  assert_line -n 0 granted
  assert_equal "${lines[1]} ${lines[2]}" "1 o:1"
  assert_equal "$(r hget 'dlock:holds:{dlock:b}' 'o:1#s')" "${lines[3]}"
  assert_equal "$(has o:1)" "b "
  ttl_between dlock:b 40000 60000
  records_between 'dlock:holds:{dlock:b}' 40000 60000
  [ "$(r get 'redisson_lock_token:{dlock:b}')" -gt 0 ]
  assert_equal "$(r exists 'redisson_lock_token:{dlock:c}')" 0
}

@test "acquire_one 'granted' again: the same name, although one before it is free by now" {
  take a
  first=$(one acquire o:1 s)
  give a
  assert_equal "$(one acquire o:1 s)" "$first"
  assert_equal "$(has o:1) $(r hget dlock:b o:1)" "b  1"
}

@test "acquire_one 'busy': all are taken, and the answer is about the shortest line" {
  take a b c
  of a -- stand_polling w:1 s
  run -0 one acquire o:1 s
  assert_line -n 0 busy
  assert_line 'hb:1#s'
  assert_equal "$(busy_end "$output")" "0 1 -1 0"
  of b -- stand_polling v:1 s
  assert_equal "$(busy_end "$(one acquire o:1 s)")" "0 2 -1 0"
  assert_equal "$(busy_end "$(one stand_polling o:1 s)")" "1 2 -1 0"
  for name in a b; do [ "$(line_of $name)" = "$([ $name = a ] && echo w || echo v):1 o:1" ]; done
  assert_equal "$(line_of c)" o:1
}

@test "acquire_one 'lost': a hold of acquire above it is gone" {
  RELIES_ON=("up:1#$STEP")
  run -0 one acquire o:1 s 60000 up:1 "$STEP"
  assert_output $'lost\n0'
  assert_equal "$(has o:1)" ""
}

@test "a claim whose hold was revoked gets no other name, in any mode" {
  for MODE in exclusive write shared; do
    r flushall
    one acquire o:1 s
    r hset 'dlock:revoked:{dlock:a}' o:1 ops@host
    run -0 one stand_polling o:1 s
    assert_line -n 0 busy
    assert_equal "$(busy_end "$output")" "1 0 -1 0"
    assert_equal "$(r exists dlock:b dlock:c) $(line_of b)$(line_of c)" "0 "
  done
}

@test "a claim that is granted leaves the other lines, and who was behind it is called" {
  take a b c
  queue w:1
  of b -- stand_polling next:1 s
  listen
  give b
  give a
  said >/dev/null
  run -0 one stand_polling w:1 s
  assert_line -n 0 granted
  assert_line -n 1 0
  assert_equal "$(said)" "dlock:turn:{dlock:b}:next:1#s turn"
  kill "$EAR"
  assert_equal "$(line_of a)$(line_of c) $(line_of b)" " next:1"
  run -0 of b -- stand_polling next:1 s
  assert_line -n 0 granted
}

@test "a free name that is offered to another is passed over; the answer says for how long" {
  take b c
  of a -- acquire h:1 s
  of a -- stand_polling w:1 s
  of a -- release h:1 s
  run -0 one acquire o:1 s
  assert_line -n 0 busy
  turn=$(busy_end "$output" | cut -d' ' -f3)
  [ "$turn" -ge 0 ] && [ "$turn" -le 1000 ]
  give c
  run -0 one acquire o:1 s
  assert_line -n 1 2
}

@test "the hold of an ancestor is joined before a free name is taken" {
  of c -- acquire up:1 u
  NAMES=(c a b) # lua.bash gives the ancestors to the first name
  run -0 one acquire o:1 s 60000 up:1 u
  assert_equal "${lines[1]} ${lines[2]}" "0 up:1"
  assert_equal "$(r hget dlock:c up:1) $(r exists dlock:a)" "2 0"
  run -0 one acquire o:1 s 60000 up:1 u
  assert_equal "$(r hget dlock:c up:1)" 2
}

@test "an ancestor's hold in another mode is in the way only if there is no other name" {
  of a -- shared acquire up:1 u
  run -0 one acquire o:1 s 60000 up:1 u
  assert_equal "${lines[0]} ${lines[1]}" "granted 1"
  take c
  run -0 one stand_polling p:1 s 60000 up:1 u
  assert_equal "$(busy_end "$output")" "1 1 -1 0"
  assert_equal "$(line_of a) $(line_of b)" " p:1"
  run -0 of a -- one stand_polling q:1 s 60000 up:1 u
  assert_equal "$(busy_end "$output")" "0 0 -1 1"
}

@test "the claim may wait as long as one of the lines is not full" {
  take a b c
  of a -- stand_polling v:1 s
  of b -- stand_polling v:1 s
  run -0 one acquire_as "$(waiter o:1 s polls)" 1 o:1 s
  assert_equal "$(busy_end "$output")" "1 2 -1 0"
  run -0 one acquire_as "$(waiter p:1 s polls)" 1 p:1 s
  assert_equal "$(place_of "$output")" 0
  assert_equal "$(line_of c)" o:1
  run -0 one acquire_as "$(waiter o:1 s polls)" 1 o:1 s
  assert_equal "$(place_of "$output")" 1
}

@test "a claim that lost its place in one line loses its places in all" {
  take a b c
  queue w:1 v:1
  r zadd 'dlock:waiters:{dlock:b}' 1 "$(waiter w:1 s polls)"
  run -0 one stand_polling w:1 s
  assert_equal "$(place_of "$output")" 2
  for name in a b c; do assert_equal "$(line_of $name)" "v:1 w:1"; done
}

@test "a claim of all names and one of one of them: whichever came first has its way" {
  take a b c
  stand_polling all:1 s
  queue one:1
  give a b
  run -0 one stand_polling one:1 s
  assert_line -n 0 busy
  give c
  run -0 stand_polling all:1 s
  assert_line -n 0 granted
  r flushall
  take a b c
  queue one:1
  stand_polling all:1 s
  give b
  run -0 one stand_polling one:1 s
  assert_equal "${lines[0]} ${lines[1]}" "granted 1"
  give a c
  run -0 stand_polling all:1 s
  assert_line -n 0 busy
  of b -- release one:1 s
  run -0 stand_polling all:1 s
  assert_line -n 0 granted
}

@test "a frozen name is passed over, and kept again if its holder died" {
  take b c
  of a -- run_script freeze 4 dlock:a 'dlock:holds:{dlock:a}' 'dlock:revoked:{dlock:a}' \
    'dlock:line:{dlock:a}' '{dlock:a}' f:1 60000 "$RECORD"
  run -0 one acquire o:1 s
  assert_line -n 0 busy
  r del dlock:a
  run -0 one acquire o:1 s
  assert_line -n 0 busy
  assert_equal "$(r exists dlock:a)" 1
  give c
  run -0 one acquire o:1 s
  assert_line -n 1 2
}

@test "slots: the first name with a free one" {
  for number in 1 2 3 4; do
    run -0 slots 2 one acquire "o$number:1" s
    assert_line -n 1 $(((number - 1) / 2))
  done
  assert_regex "${lines[3]}" '"slot":1,'
}

@test "an error at any of the names takes none" {
  r set 'dlock:line:{dlock:c}' foreign
  run one acquire o:1 s
  assert_output --partial WRONGTYPE
  assert_equal "$(has o:1)" ""
}
