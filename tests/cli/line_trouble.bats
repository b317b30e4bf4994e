#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: whatever happens to the connections, the server and the keys while many wait, each of them
# enters, and one at a time; those in front see a lock that becomes free without a word.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells
load ../support/suite
suite server line

# front NAME: the first of the line has seen that it is, and listens for changes.
front() { [ "$(r pubsub numsub "redisson_lock__channel:{dlock:$1}" | tail -1)" -ge 1 ]; }
# within SECONDS COMMAND…: it succeeds, and not much later than that.
within() {
  local began=${EPOCHREALTIME/./} most=$1
  shift
  eventually 30s "$@" || fail "not at all: $*: $(cat "$T"/waiter-*.err)"
  [ $((${EPOCHREALTIME/./} - began)) -le $((most * 1000000)) ] ||
    fail "after $((${EPOCHREALTIME/./} - began)) us: $*"
}
# on_other_server NAME [OPTION…]: this test is about a server that it may mistreat.
on_other_server() {
  start_other "$@"
  export REDIS_SOCKET=$OTHER_SOCKET DLOCK_URL=$OTHER_URL
}
restart_other() {
  kill -KILL "$OTHER_PID"
  eventually 5s gone "$OTHER_PID"
  start_other "$@"
}
# as_user RULE…: dlock is a user with all rights but for these.
as_user() {
  r acl setuser worker reset on '>sesame' '~*' '&*' +@all "$@" >/dev/null
  export DLOCK_URL=redis+unix://worker:sesame@$REDIS_SOCKET
}

@test "waiters whose subscriptions are cut keep their places and enter in order" {
  hold cut
  stand_all cut 1 5
  r client kill type pubsub >/dev/null
  eventually 20s subscribers cut 5
  assert stands cut 5
  let_go
  within 10 entered 5
  assert_order 1 2 3 4 5
}

@test "waiters whose connections are cut keep their places and enter in order" {
  hold cut-all
  stand_all cut-all 1 5
  r client kill type normal >/dev/null
  eventually 20s subscribers cut-all 5
  let_go
  within 10 entered 5
  assert_order 1 2 3 4 5
}

held_by_is_last() { tail -1 "$T/waiter-1.err" | grep -q 'for "away", .*held by'; }
@test "the store goes away while one waits: the line says so once, and the holder when it is back" {
  on_other_server aof --appendonly yes --appendfsync always
  hold away --ttl 60s
  stand away 1
  eventually 10s held_by_is_last
  kill -KILL "$OTHER_PID"
  eventually 5s gone "$OTHER_PID"
  eventually 20s grep -qE '^dlock: waiting [0-9]+s for "away": cannot reach redis\+unix:.*; away for [0-9]+s, retrying for [0-9]+s$' \
    "$T/waiter-1.err"
  start_other aof --appendonly yes --appendfsync always
  eventually 20s held_by_is_last
  [ "$(grep -c 'cannot reach' "$T/waiter-1.err")" = 1 ]
  let_go
  within 10 entered 1
}

@test "Redis is restarted with its data while five wait: they enter in their order" {
  on_other_server aof --appendonly yes --appendfsync always
  hold again --ttl 60s --on-lost warn
  stand_all again 1 5
  restart_other aof --appendonly yes --appendfsync always
  eventually 20s subscribers again 5
  let_go
  within 15 entered 5
  assert_order 1 2 3 4 5
}

@test "Redis is restarted without its data while five wait: each enters once" {
  on_other_server empty
  hold anew --ttl 60s --on-lost warn
  stand_all anew 1 5
  restart_other empty
  eventually 40s entered 5
  [ "$(order | tr ' ' '\n' | sort -n | xargs)" = "1 2 3 4 5" ] || fail "$(order)"
  let_go || true
}

@test "FLUSHALL while five wait: the first enters at once, each of the others after it, once" {
  hold flushed --on-lost warn
  stand_all flushed 1 5
  eventually 10s front flushed
  r flushall >/dev/null
  within 3 grep -q '^1 ' "$T/entered"
  eventually 40s entered 5
  [ "$(order | tr ' ' '\n' | sort -n | xargs)" = "1 2 3 4 5" ] || fail "$(order)"
  let_go || true
}

@test "the keys of the line are deleted while five wait: each enters once" {
  hold robbed
  stand_all robbed 1 5
  r del 'dlock:line:{dlock:robbed}' >/dev/null
  let_go
  eventually 40s entered 5
  [ "$(order | tr ' ' '\n' | sort -n | xargs)" = "1 2 3 4 5" ] || fail "$(order)"
  run -0 "$DLOCK" run -n robbed -- true
}

@test "a holder that is killed: the first enters when the lease ends, in order" {
  hold crashed --ttl 2s
  local child
  child=$(cat "$T/held")
  stand_all crashed 1 3
  kill -KILL "$HOLDER"
  within 6 entered 3
  assert_order 1 2 3
  kill -KILL "$child" 2>/dev/null || true
}

@test "K19: a Redisson holder's unlock wakes the first, and they enter in order" {
  : >"$T/words"
  spawn java bash -c 'tail -n +1 -f "$1" --pid=$$ | exec python3 "$2" "$3" dlock:java hold 60000' \
    - "$T/words" "$PROGRAMS/redisson_holder.py" "$REDIS_SOCKET"
  eventually 10s grep -q '^acquired 1' "$T/java.out"
  stand_all java 1 4
  echo unlock >>"$T/words"
  within 6 entered 4
  assert_order 1 2 3 4
}

# foreign NAME: a lock of SET NX PX, whose release is a DEL and no message.
foreign() { r set "dlock:$1" theirs nx px 60000 >/dev/null; }

@test "a string lock that is deleted without a message: the first is woken, and did not ask for it" {
  local sent
  foreign silent
  stand_all silent 1 3
  eventually 10s front silent
  settle
  r config resetstat >/dev/null
  sleep 2
  sent=$(commands_since_reset)
  r del dlock:silent >/dev/null
  within 5 entered 3
  assert_order 1 2 3
  [ "$sent" -le 8 ] || fail "$sent commands in 2 s"
}

@test "a string lock where tracking is refused: the first asks often, and -v says why" {
  local sent
  as_user -client\|tracking
  foreign blind
  stand blind 1 -v
  stand blind 2
  eventually 10s grep -q 'no key tracking: .*client|tracking' "$T/waiter-1.err"
  r config resetstat >/dev/null
  sleep 2
  sent=$(commands_since_reset)
  [ "$sent" -ge 4 ] || fail "$sent commands in 2 s"
  r del dlock:blind >/dev/null
  within 5 entered 2
  assert_order 1 2
}

@test "where channels are refused waiters poll in line: all are admitted in order, and -v says why" {
  as_user resetchannels
  hold deaf
  stand deaf 1 -v
  stand_all deaf 2 4
  eventually 10s grep -qi 'poll.*channel\|channel.*poll' "$T/waiter-1.err" ||
    fail "$(cat "$T/waiter-1.err")"
  let_go
  within 10 entered 4
  assert_order 1 2 3 4
  eventually 5s stands deaf 0
}

@test "a foreign value at a key of the line: the holder releases, a new claim gets the error" {
  hold odd
  r set 'dlock:line:{dlock:odd}' theirs >/dev/null
  let_go
  assert_free odd
  run --separate-stderr "$DLOCK" run -w 1 odd -- touch "$MARKER"
  [ "$status" = 69 ] || [ "$status" = 76 ] || fail "$status: $stderr"
  assert_stderr_has WRONGTYPE
  assert_not_started
  r del 'dlock:line:{dlock:odd}' >/dev/null
  run -0 "$DLOCK" run odd -- true
}
