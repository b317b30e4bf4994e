#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Shared holds, slots, several names and holds over steps: what becomes of them when a holder dies,
# is late, or meets somebody who does not know the rules.
# *_pid are set by spawn; '…' is for inner shells; every test is a shell of its own.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../support/suite
suite server ticker faults

# A section of a, b or of both at once: no other may be in it.
section='for name in $DLOCK_NAME; do mkdir "$0/in-$name" || echo "two in $name" >>"$0/wrong"; done
  for name in $DLOCK_NAME; do rmdir "$0/in-$name"; done; echo done >>"$0/done"'

# take_pairs COUNT [--and OTHER] NAME: so many times in this order.
take_pairs() {
  local i
  for ((i = 0; i < $1; i++)); do "$DLOCK" run "${@:2}" -- sh -c "$section" "$T" || return 1; done
}

@test "K16: twenty take two names in both orders, over and over: all come through, one at a time" {
  local i one=() all=()
  for ((i = 0; i < 10; i++)); do
    take_pairs 5 --and two one >"$T/forth-$i" 2>&1 3>&- &
    all+=($!)
    take_pairs 5 --and one two >"$T/back-$i" 2>&1 3>&- &
    all+=($!)
  done
  STARTED+=("${all[@]}")
  take_pairs 10 one
  for one in "${all[@]}"; do wait "$one"; done
  [ "$(wc -l <"$T/done")" = 110 ]
  [ ! -e "$T/wrong" ]
  assert_free one
  assert_free two
}

@test "K13 K16: a waiter that is skipped in one of its lines loses its place in all, and no waiter is stuck" {
  local first
  dlock_run a --and right left -- sh -c "touch $T/in; $(until_there "$T/go")"
  eventually 10s test -e "$T/in"
  dlock_run b --and right left -- true
  eventually 10s waiting_in_line right 1
  first=$(r zrange 'dlock:line:{dlock:right}' 0 0)
  dlock_run c --and left right -- true
  eventually 10s waiting_in_line right 2
  # As with one that was frozen when it was its turn there; it comes again within three seconds.
  r zrem 'dlock:line:{dlock:right}' "$first"
  r zrem 'dlock:waiters:{dlock:right}' "$first"
  eventually 10s waiting_in_line right 2
  [ "$(r zrank 'dlock:line:{dlock:left}' "$first") $(r zrank 'dlock:line:{dlock:right}' "$first")" = "1 1" ]
  touch "$T/go"
  ends 10s a "exit 0"
  ends 20s b "exit 0"
  ends 20s c "exit 0"
  assert_free left
  assert_free right
}

@test "K16: one below the other in both orders they wait for each other, as long as -w says" {
  local inner="touch \$1; until [ -e \$2 ]; do sleep 0.02; done
    exec '$DLOCK' run -w 1s \$0 -- true"
  dlock_run a first -- sh -c "$inner" second "$T/a-in" "$T/b-in"
  dlock_run b second -- sh -c "$inner" first "$T/b-in" "$T/a-in"
  eventually 20s ended a
  eventually 20s ended b
  # The one that gave up first may have let the other one in.
  [[ "$(cat "$T/a.end") $(cat "$T/b.end")" == *"exit 75"* ]]
  assert_free first
  assert_free second
}

# The holder NAME and its guard are gone without a message.
vanish() {
  local pid=${1}_pid guard
  guard=$(guard_of "${!pid}")
  kill -STOP "${!pid}"
  kill -KILL "$guard" "${!pid}"
}

@test "K21: a reader dies: others go on, and a writer enters when they end, not with its lease" {
  dlock_run a -s --ttl 2s read -- "$TICKER" "$T/ticks-a"
  dlock_run b -s --ttl 60s read -- sh -c "touch $T/in; $(until_there "$T/go")"
  eventually 10s ticking "$T/ticks-a"
  eventually 10s test -e "$T/in"
  vanish a
  dlock_run c -x --ttl 60s read -- true
  eventually 10s waiting_in_line read
  # Its lease has ended; the lock is still shared, and the writer waits.
  eventually 10s owners_left read 1
  alive "$c_pid"
  [ ! -s "$T/b.end" ]
  touch "$T/go"
  ends 10s b "exit 0"
  ends 10s c "exit 0"
  assert_free read
}
# Of those who hold side by side, so many live.
owners_left() {
  [ "$(r --scan --pattern "{dlock:$1}:*:rwlock_timeout:*" | wc -l)" = "$2" ]
}

@test "K21: a reader dies alone: the writer enters when its lease ends" {
  dlock_run a -s --ttl 2s alone -- "$TICKER" "$T/ticks-a"
  eventually 10s ticking "$T/ticks-a"
  vanish a
  dlock_run b -x alone -- true
  ends 20s b "exit 0"
  assert_free alone
}

@test "K21: the holder of a slot dies: when its lease ends its slot is the next one's" {
  dlock_run a --slots 2 --ttl 2s slot -- \
    sh -c "echo \$DLOCK_SLOT >$T/slot-a; exec $TICKER $T/ticks-a"
  eventually 10s file_has "$T/slot-a"
  dlock_run b --slots 2 --ttl 60s slot -- \
    sh -c "echo \$DLOCK_SLOT >$T/slot-b; $(until_there "$T/go")"
  eventually 10s file_has "$T/slot-b"
  [ "$(cat "$T/slot-a") $(cat "$T/slot-b")" = "0 1" ]
  vanish a
  dlock_run c --slots 2 slot -- sh -c "echo \$DLOCK_SLOT >$T/slot-c"
  ends 20s c "exit 0"
  [ "$(cat "$T/slot-c")" = 0 ]
  [ ! -s "$T/b.end" ]
  touch "$T/go"
  ends 10s b "exit 0"
  assert_free slot
}

@test "K22: Java's read-write lock takes a plain hold for none: 79, and its lock is untouched" {
  local java
  # The first step of its write lock, where the hash has no mode.
  java='if redis.call("HGET", KEYS[1], "mode") ~= false then return 0 end
    redis.call("HSET", KEYS[1], "mode", "write", ARGV[1], 1)
    return redis.call("PEXPIRE", KEYS[1], 30000)'
  dlock_run a --ttl 3s plain -- "$TICKER" "$TICKS"
  eventually 10s ticking
  [ "$(r eval "$java" 1 dlock:plain java:1:write)" = 1 ]
  ends 20s a "exit 79"
  ticker_gone
  [ "$(r hmget dlock:plain mode java:1:write | xargs)" = "write 1" ]
  r del dlock:plain
  # What has a mode it leaves alone.
  dlock_run b --slots 3 --ttl 3s plain -- sh -c "touch $T/in; $(until_there "$T/go")"
  eventually 10s test -e "$T/in"
  [ "$(r eval "$java" 1 dlock:plain java:1:write)" = 0 ]
  touch "$T/go"
  ends 10s b "exit 0"
  assert_free plain
}

@test "K23: a late renewal or release of a hold over steps touches nothing of the next holder" {
  eval "$("$DLOCK" acquire --ttl 1s steps)"
  run -75 env -u DLOCK_HOLDS "$DLOCK" run -n steps -- true
  eventually 10s is_free steps
  env -u DLOCK_HOLDS python3 -S "$PROGRAMS/spawn.py" --pid "$T/a.pid" --report "$T/a.end" -- \
    "$DLOCK" run steps -- sh -c "touch $T/in; $(until_there "$T/go")" 2>"$T/a.err" 3>&- &
  STARTED+=($!)
  eventually 10s test -e "$T/in"
  local before
  before="$(r hgetall dlock:steps) $(r hgetall 'dlock:holds:{dlock:steps}' | sort)"
  run -79 "$DLOCK" renew steps
  run -75 "$DLOCK" release steps
  [[ $output == *'not released: "steps" is held by'* ]]
  run -75 env -u DLOCK_HOLDS "$DLOCK" release --owner "$DLOCK_OWNER" steps
  # Below it a run is not begun, and neither is one of a stranger.
  run -79 "$DLOCK" run -n steps -- touch "$T/in2"
  run -75 env -u DLOCK_HOLDS "$DLOCK" run -n steps -- touch "$T/in2"
  [ ! -e "$T/in2" ]
  [ "$(r hgetall dlock:steps) $(r hgetall 'dlock:holds:{dlock:steps}' | sort)" = "$before" ]
  touch "$T/go"
  ends 10s a "exit 0"
  run -1 "$DLOCK" release steps
  assert_free steps
}

@test "K24: one of several names is lost: 79 for all of them, and the others are released" {
  dlock_run a --ttl 3s --and there here -- "$TICKER" "$TICKS"
  eventually 10s ticking
  r hset other:lock foreign:1 1
  r rename other:lock dlock:there
  ends 20s a "exit 79"
  ticker_gone
  assert_free here
  [ "$(r hgetall dlock:there)" = $'foreign:1\n1' ]
}

# own_wait OUTER… -- INNER…: a run with INNER below one with OUTER, of one name.
own_wait() {
  local outer=()
  while [ "$1" != -- ]; do outer+=("$1"); shift; done
  shift
  run -75 timeout 20 "$DLOCK" run "${outer[@]}" own -- "$DLOCK" run "$@" own -- touch "$T/in"
  [[ $output == *"an ancestor of this run"*"would deadlock"* ]]
  [ ! -e "$T/in" ]
  assert_free own
}
@test "K25: a run that would deadlock with its ancestor ends at once with 75 and says why" {
  own_wait -s -- -x
  own_wait -s --
  own_wait -s -- --slots 2
  own_wait --slots 2 -- -s
  own_wait --slots 2 --
  own_wait -x -- --slots 2
  own_wait -- --slots 2
  # Of several names one is enough.
  run -75 timeout 20 "$DLOCK" run -s own -- "$DLOCK" run --and own else -- touch "$T/in"
  [[ $output == *'"own"'*"would deadlock"* ]]
  assert_free else
  [ ! -e "$T/in" ]
}

@test "K26: a step outside dlock run goes on after its lease: the next one enters beside it" {
  eval "$("$DLOCK" acquire --ttl 1s loose)"
  "$TICKER" "$TICKS" 3>&- &
  STARTED+=($!)
  eventually 10s ticking
  # It sees the other one tick.
  run -0 env -u DLOCK_HOLDS "$DLOCK" run -q -w 20 loose -- sh -c 'echo "$DLOCK_TOKEN"
    seen=$(wc -l <"$0"); until [ "$(wc -l <"$0")" -gt "$seen" ]; do sleep 0.02; done' "$TICKS"
  [ "$output" -gt "$DLOCK_TOKEN" ]
  run -79 "$DLOCK" renew loose
  assert_free loose
}
