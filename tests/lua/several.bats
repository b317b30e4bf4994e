#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: several names are taken all or none, in one step, by the first in all their lines; and no
# two who want them in any order wait for each other.
# shellcheck disable=SC2034,SC2086  # what lua.bash reads; words
load ../support/suite
suite server empty lua

setup() {
  set_up
  NAMES=(a b) TTL=60000
}

# of NAME… -- CALL: with other names than a and b.
of() {
  NAMES=()
  while [ "$1" != -- ]; do NAMES+=("$1") && shift; done
  "${@:2}"
  NAMES=(a b)
}
line_of() { in_line "dlock:line:{dlock:$1}"; }
record_of() { r hget "dlock:holds:{dlock:$1}" "$2"; }
# An owner who polls, so that nobody takes it for dead.
queue() {
  local who
  for who; do stand_polling "$who" s >/dev/null; done
}
# pass_over OWNER NAME: as if its turn had ended there.
pass_over() { r zadd "dlock:waiters:{dlock:$2}" 1 "$(waiter "$1" s polls)" >/dev/null; }

@test "acquire 'granted' for several names: a hold and a token of each, under one serial" {
  run -0 acquire o:1 s
  assert_line -n 0 granted
  assert_equal "${lines[1]} ${lines[3]}" "o:1 o:1"
  for name in a b; do
    assert_equal "$(r hgetall "dlock:$name")" $'o:1\n1'
    ttl_between "dlock:$name" 40000 60000
    records_between "dlock:holds:{dlock:$name}" 40000 60000
  done
  assert_equal "$(record_of a 'o:1#s') $(record_of b 'o:1#s')" "${lines[2]} ${lines[4]}"
  assert_equal "$(acquire o:1 s)" "$output"
  assert_equal "$(r hget dlock:a o:1) $(r hget dlock:b o:1)" "1 1"
}

@test "the first renewal adds to each record which processes the run has, once" {
  local before name told='"machine":"m","guard":7,"group":8}'
  acquire o:1 s
  before=$(record_of b 'o:1#s')
  run -0 renew o:1 s 20000 0 "$told"
  assert_output renewed
  run -0 renew o:1 s 20000 0 "${told/8/9}"
  for name in a b; do [[ $(record_of $name 'o:1#s') == *",$told" ]]; done
  assert_equal "$(record_of b 'o:1#s')" "${before%\}},$told"
  release o:1 s
  run -0 renew o:1 s 20000 0 "$told" # a late copy
  assert_line -n 0 lost
  [ "$(r exists 'dlock:holds:{dlock:a}')" = 0 ]
}

@test "acquire 'busy': while one name is taken none is granted; the answer names it" {
  for taken in a b; do
    r flushall
    of "$taken" -- acquire h:1 s
    before=$(dump_all)
    run -0 acquire o:1 s
    assert_line -n 0 busy
    assert_line 'h:1#s'
    assert_equal "$(busy_end "$output")" "0 $([ $taken = a ] && echo 0 || echo 1) -1 0"
    assert_equal "$(dump_all)" "$before"
  done
}

@test "acquire that fails at any of the names writes nothing to the others" {
  r set 'redisson_lock_token:{dlock:b}' abc
  before=$(dump_all)
  run acquire o:1 s
  assert_output --partial 'is not a usable number'
  run shared acquire o:1 s
  assert_output --partial 'is not a usable number'
  assert_equal "$(dump_all)" "$before"
}

@test "readers and slots of several names: a lease and a number of each name" {
  shared acquire o:1 s
  run -0 shared acquire p:1 s
  assert_line -n 0 granted
  for name in a b; do
    assert_equal "$(r hgetall "dlock:$name")" $'mode\nread\no:1\n1\np:1\n1'
    ttl_between "{dlock:$name}:p:1:rwlock_timeout:1" 20000 60000
  done
  r flushall
  of a -- slots 2 acquire x:1 s
  slots 2 acquire o:1 s
  assert_regex "$(record_of a 'o:1#s') $(record_of b 'o:1#s')" '"slot":1,.* .*"slot":0,'
  run -0 slots 2 acquire p:1 s
  assert_line -n 0 busy
  assert_equal "$(busy_end "$output")" "0 0 -1 0"
  assert_equal "$(r hlen dlock:b)" 2
}

@test "renew 'renewed' extends all; 'lost' and 'revoked' if one of them is" {
  acquire o:1 s
  run -0 renew o:1 s 200000
  assert_output renewed
  ttl_between dlock:a 150000 200000
  ttl_between dlock:b 150000 200000
  run -0 renew o:1 s 0
  assert_output held
  r hset 'dlock:revoked:{dlock:b}' o:1 ann
  run -0 renew o:1 s 600000
  assert_output $'revoked\nann\n1' # by whom, and which of the names
  ttl_between dlock:b 100000 200000
  r del dlock:b
  run -0 renew o:1 s
  assert_line -n 0 lost
  assert_line -n 1 none
  assert_line -n -2 1 # the second name
  assert_line -n -1 0 # not released
  assert_equal "$(r exists dlock:b)" 0
}

@test "renew 'lost' of one name is answered before 'revoked' of another" {
  for gone in a b; do
    r flushall
    acquire o:1 s
    for name in a b; do r hset "dlock:revoked:{dlock:$name}" o:1 ann; done
    r del "dlock:$gone"
    run -0 renew o:1 s 0
    assert_line -n 0 lost
  done
}

@test "release answers for each name, and releases the others" {
  acquire o:1 s
  r del dlock:a
  run -0 release o:1 s
  assert_output "not_held released"
  assert_equal "$(r exists dlock:a dlock:b 'dlock:holds:{dlock:b}')" 0
}

@test "below a hold of one name that one is joined, the others taken; an own hold comes first" {
  of a -- acquire o:1 s
  run -0 acquire me:2 t 60000 o:1 s
  assert_line -n 0 granted
  assert_equal "${lines[1]} ${lines[3]}" "o:1 me:2"
  assert_equal "$(r hget dlock:a o:1) $(r hget dlock:b me:2)" "2 1"
  run_script release 12 dlock:a dlock:{holds,revoked,line,waiters,done}:'{dlock:a}' \
    dlock:b dlock:{holds,revoked,line,waiters,done}:'{dlock:b}' \
    t 0 '' 0 o:1 '{dlock:a}' 0 me:2 '{dlock:b}' 0
  assert_equal "$(r hget dlock:a o:1) $(r exists dlock:b)" "1 0"
  # Its own reader is in the way of one, a stranger of the other: it is told of its own.
  of b -- acquire h:1 s
  of a -- release o:1 s
  of a -- shared acquire o:1 s
  run -0 acquire me:2 t 60000 o:1 s
  assert_equal "$(busy_end "$output")" "0 0 -1 1"
  NAMES=(b a)
  run -0 run_script acquire 14 \
    dlock:b {redisson_lock_token:,dlock:holds:,dlock:revoked:,dlock:line:,dlock:waiters:,dlock:done:}'{dlock:b}' \
    dlock:a {redisson_lock_token:,dlock:holds:,dlock:revoked:,dlock:line:,dlock:waiters:,dlock:done:}'{dlock:a}' \
    me:2 t 60000 "$RECORD" '' '' '{dlock:b}' 0 '{dlock:a}' 1 o:1 s
  assert_equal "$(busy_end "$output")" "0 1 -1 1"
}

# --- in line -------------------------------------------------------------------------------------

@test "a waiter for several names is in all their lines, and leaves them all" {
  of a -- acquire h:1 s
  run -0 stand o:1 s
  assert_equal "$(busy_end "$output")" "1 0 -1 0"
  assert_equal "$(line_of a) $(line_of b)" "o:1 o:1"
  leave o:1 s
  assert_equal "$(line_of a) $(line_of b)" " "
  stand_polling o:1 s
  of a -- release h:1 s
  run -0 stand_polling o:1 s
  assert_line -n 0 granted
  assert_equal "$(line_of a) $(line_of b)" " "
}

@test "acquire 'busy' at a turn: a free name waits for its first waiter, which waits for another name" {
  of b -- acquire h:1 s
  queue o:1
  run -0 of a -- acquire x:1 s
  assert_line -n 0 busy
  assert_line -n 1 none
  read -r place which turn own < <(busy_end "$output")
  assert_equal "$place $which $own" "0 0 0"
  [ "$turn" -gt 0 ] && [ "$turn" -le 1000 ]
  of b -- release h:1 s
  run -0 of b -- acquire x:1 s
  assert_line -n 0 busy
  run -0 stand_polling o:1 s
  assert_line -n 0 granted
}

@test "two waiters for the same names in another order both get them" {
  acquire h:1 s
  queue o:1
  of b a -- queue p:1
  release h:1 s
  eventually 10s both_got_them
}
both_got_them() {
  if [ "$(first "$(stand_polling o:1 s)")" = granted ]; then release o:1 s && O_GOT_THEM=1; fi
  if [ "$(first "$(of b a -- stand_polling p:1 s)")" = granted ]; then release p:1 s && P_GOT_THEM=1; fi
  [ "${O_GOT_THEM:-}${P_GOT_THEM:-}" = 11 ]
}

@test "a waiter that was passed over in one of its lines has lost its place in all" {
  acquire h:1 s
  queue o:1 p:1
  pass_over o:1 b
  stand_polling p:1 s
  assert_equal "$(line_of a) / $(line_of b)" "o:1 p:1 / p:1"
  run -0 stand_polling o:1 s
  assert_equal "$(line_of a) / $(line_of b)" "p:1 o:1 / p:1 o:1"
  r del dlock:a dlock:b 'dlock:holds:{dlock:a}' 'dlock:holds:{dlock:b}' # nobody's turn has begun
  run -0 stand_polling p:1 s
  assert_line -n 0 granted
  release p:1 s
  run -0 stand_polling o:1 s
  assert_line -n 0 granted
}

@test "no more wait in any line than the claim allows, and a claim that may not wait is in none" {
  of b -- acquire h:1 s
  of b -- queue x:1
  run -0 acquire_as "$(waiter o:1 s polls)" 1 o:1 s
  assert_equal "$(busy_end "$output")" "0 1 -1 0"
  assert_equal "$(line_of a) / $(line_of b)" " / x:1"
  of b a -- acquire_as "$(waiter z:1 s polls)" 0 z:1 s >"$BATS_TEST_TMPDIR/z"
  assert_equal "$(busy_end "$(<"$BATS_TEST_TMPDIR/z")")" "0 0 -1 0"  # a is full as well, but free
  run -0 acquire_as "$(waiter o:1 s polls)" 2 o:1 s
  assert_equal "$(busy_end "$output")" "2 1 -1 0"
  # It is passed over in b, where it is full now: it must not keep a from others.
  pass_over o:1 b
  of b -- queue y:1
  run -0 acquire_as "$(waiter o:1 s polls)" 2 o:1 s
  assert_equal "$(busy_end "$output")" "0 1 -1 0"
  assert_equal "$(line_of a) / $(line_of b)" " / x:1 y:1"
  # Of a name that is joined it stands in no line.
  of a -- acquire above:1 s
  of a -- queue x:1 y:1
  r del 'dlock:line:{dlock:b}'
  run -0 acquire_as "$(waiter me:2 t polls)" 2 me:2 t 60000 above:1 s
  assert_equal "$(busy_end "$output")" "1 1 -1 0"
  assert_equal "$(line_of a) / $(line_of b)" "x:1 y:1 / me:2"
}

# --- done ----------------------------------------------------------------------------------------

@test "acquire 'done' of several names: only if all of them are" {
  of a -- acquire o:1 s
  of a -- release o:1 s 0 60000
  run -0 env_once 60000 acquire p:1 s
  assert_line -n 0 granted
  release p:1 s 0 60000
  for name in a b; do
    key="dlock:done:{dlock:$name}"
    r set "$key" $(($(r get "$key") - 20000)) keepttl  # the older of the two is told
    run -0 env_once 60000 acquire q:1 s
    assert_line -n 0 'done'
    [ "${lines[1]}" -ge 20000 ]
    r set "$key" $(($(r get "$key") + 20000)) keepttl
  done
  assert_equal "$(r exists dlock:a dlock:b)" 0
}
env_once() { ONCE=$1 "${@:2}"; }
