#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# An answer that got lost is not a "no": whatever the server did without telling us is found out,
# repeated without counting twice, or undone.
# shellcheck disable=SC2154,SC2016,SC2086  # *_pid come from spawn; '…' is for inner shells; $long is two words

load ../support/suite
suite server ticker supervise

setup() {
  set_up
  start_proxy
  export DLOCK_URL=$PROXY_URL
}

dropped_times() { [ "$(grep -cFx -- '-- dropped' "$PROXY_LOG")" = "$1" ]; }
listeners() { [ "$(r pubsub numsub "redisson_lock__channel:{dlock:$1}" | tail -1)" = "$2" ]; }
dropped() { grep -qFx -- '-- dropped' "$PROXY_LOG"; }
# What the server has of KEY, for an inner shell: count of holds, number of records, their owner's.
look='redis-cli -s $REDIS_SOCKET hget "dlock:$DLOCK_NAME" "$DLOCK_OWNER"; redis-cli -s $REDIS_SOCKET hlen "dlock:$DLOCK_NAME"; redis-cli -s $REDIS_SOCKET hlen "dlock:holds:{dlock:$DLOCK_NAME}"'
# A lease that no test waits for, so that "free" is never expiry.
long='--ttl 60s'

@test "the proxy lets everything through" {
  run -0 --separate-stderr "$DLOCK" run plain -- sh -c "$look"
  [ "$output" = $'1\n1\n1' ]
  [ -z "$stderr" ]
  assert_free plain
}

@test "N04: the answer to acquire is lost: granted all the same, counted once, freed by one release" {
  proxy drop 1 EVAL close
  dlock_run a $long acquire -- sh -c "$look; exit 7"
  ends 8s a "exit 7"
  dropped
  [ "$(cat "$T/a.out")" = $'1\n1\n1' ]
  [ ! -s "$T/a.err" ]
  assert_free acquire
}

@test "N04: the answer to acquire is lost three times: still counted once" {
  proxy drop 1-3 EVAL close
  dlock_run a $long acquire-3 -- sh -c "$look"
  ends 8s a "exit 0"
  dropped_times 3
  [ "$(cat "$T/a.out")" = $'1\n1\n1' ]
  assert_free acquire-3
}

@test "N04: no answer to acquire at all, on a connection that stays open: granted later, or undone" {
  one_is_undone mute granted_or_undone
}
granted_or_undone() { # NAME
  dlock_run a $long --connect-timeout 2s "$1" -- sh -c "$look"
  eventually 8s ended a
  case $(cat "$T/a.end") in
    "exit 0") [ "$(cat "$T/a.out")" = $'1\n1\n1' ] ;;
    "exit 69") [ ! -s "$T/a.out" ] ;;
    *) cat "$T/a.end" "$T/a.err"; false ;;
  esac
}

@test "the record of a hold whose answer was lost names its owner, token and process" {
  proxy drop 1 EVAL close
  dlock_run a $long record -- sh -c 'redis-cli -s $REDIS_SOCKET hgetall "dlock:holds:{dlock:record}"; echo $DLOCK_OWNER $DLOCK_TOKEN'
  ends 8s a "exit 0"
  dropped
  local owner token
  read -r owner token < <(tail -1 "$T/a.out")
  grep -q "^$owner#" "$T/a.out"
  grep -q "\"token\":${token}[,}]" "$T/a.out"
  grep -q "\"pid\":${a_pid}[,}]" "$T/a.out"
}

@test "the token that the command sees is the one of the grant that was not heard of" {
  proxy drop 1 EVAL close
  dlock_run a $long token -- sh -c 'echo $DLOCK_TOKEN; redis-cli -s $REDIS_SOCKET get "redisson_lock_token:{dlock:token}"'
  ends 8s a "exit 0"
  dropped
  [ "$(sed -n 1p "$T/a.out")" = "$(sed -n 2p "$T/a.out")" ]
}

@test "N07: the answer to a renewal is lost: the run is undisturbed" {
  local how file
  for how in close mute; do
    file=$T/ticks-$how
    proxy pass
    dlock_run "$how" --ttl 3s -k 200ms "renew-$how" -- "$TICKER" "$file" for 4500 code 5
    eventually 5s ticking "$file"
    proxy drop 1 EVAL "$how"
    eventually 5s dropped
    grep -q '^[0-9]* EVALSHA .* 3000 0 ' <(grep -B 1 '^-- drop 1' "$PROXY_LOG") # a renewal, no look
    [ "$(hold_count "renew-$how")" = 1 ]
    [ "$(hold_records "renew-$how")" = 1 ]
    ends 10s "$how" "exit 5"
    grep -q ' end$' "$file"
    [ ! -s "$T/$how.err" ]
    assert_free "renew-$how"
    : >"$PROXY_LOG"
  done
}

@test "N07: a renewal that was not answered does not move the end of the lease" {
  dlock_run a --ttl 3s unmoved -- "$TICKER" "$TICKS" ignore 15
  eventually 5s ticking
  proxy drop 1 EVAL blackhole # nor does a repetition get through
  eventually 5s dropped
  local at
  at=$(boot_ms)
  ends 10s a "exit 79"
  # The last confirmed request is the acquire, or it lies before the drop: 2 s are left at most.
  [ "$(late_by $((at + 2300)))" = 0 ]
  ticker_gone
}

@test "N09: the answer to release is lost: the command's code, no warning, the lock is free" {
  dlock_run a $long release -- sh -c "echo \$\$ >$T/child; until [ -e $T/go ]; do sleep 0.02; done; exit 7"
  eventually 5s file_has "$T/child"
  proxy drop 1 EVAL close
  touch "$T/go"
  ends 8s a "exit 7"
  dropped
  [ ! -s "$T/a.err" ]
  assert_free release
}

@test "N09: no answer to release on a connection that stays open: asked again, no warning" {
  dlock_run a --ttl 6s release-mute -- sh -c "echo \$\$ >$T/child; until [ -e $T/go ]; do sleep 0.02; done; exit 7"
  eventually 5s file_has "$T/child"
  proxy drop 1 EVAL mute
  touch "$T/go"
  eventually 5s dropped
  ends 8s a "exit 7"
  [ ! -s "$T/a.err" ]
  assert_free release-mute
}

@test "K18: release stays unknown: the command's code, and a warning that says when the lease ends" {
  dlock_run a --ttl 6s --connect-timeout 1s release-never -- sh -c "echo \$\$ >$T/child; until [ -e $T/go ]; do sleep 0.02; done; exit 7"
  eventually 5s file_has "$T/child"
  proxy blackhole
  touch "$T/go"
  ends 8s a "exit 7"
  grep -q 'release-never.*lease ends in' "$T/a.err"
  eventually 7s is_free release-never
}

@test "K07 N09: a release that was not heard of does not take the next one's lock" {
  dlock_run a $long next -- sh -c "echo \$\$ >$T/child; until [ -e $T/go ]; do sleep 0.02; done; exit 7"
  eventually 5s file_has "$T/child"
  DLOCK_URL=redis+unix://$REDIS_SOCKET dlock_run b $long next -- sh -c "echo in >$T/next; until [ -e $T/go2 ]; do sleep 0.02; done"
  eventually 5s listeners next 1
  proxy drop 1 EVAL close
  touch "$T/go"
  ends 8s a "exit 7"
  eventually 5s file_has "$T/next"
  [ "$(hold_count next)" = 1 ]
  [ "$(hold_records next)" = 1 ]
  touch "$T/go2"
  ends 8s b "exit 0"
  [ ! -s "$T/a.err" ]
  assert_free next
}

@test "the answer to a nested acquire is lost: two holds, then one, then none" {
  local inner
  inner="redis-cli -s \$REDIS_SOCKET hget dlock:nested \"\$DLOCK_OWNER\"; redis-cli -s \$REDIS_SOCKET hlen 'dlock:holds:{dlock:nested}'"
  dlock_run a $long nested -- bash -c "
    $inner
    echo 'drop 1 EVAL close' >$PROXY_CONTROL.new; mv $PROXY_CONTROL.new $PROXY_CONTROL
    timeout 10 $DLOCK run nested -- sh -c \"\$0\"; echo code \$?
    $inner" "$inner"
  ends 15s a "exit 0"
  dropped
  [ "$(tr '\n' ' ' <"$T/a.out")" = "1 1 2 2 code 0 1 1 " ]
  assert_free nested
}

@test "the answer to a nested release is lost: counted down once" {
  local inner
  inner="redis-cli -s \$REDIS_SOCKET hget dlock:nested-r \"\$DLOCK_OWNER\"; redis-cli -s \$REDIS_SOCKET hlen 'dlock:holds:{dlock:nested-r}'"
  dlock_run a $long nested-r -- bash -c "
    timeout 10 $DLOCK run nested-r -- sh -c \"\$0; echo 'drop 1 EVAL close' >$PROXY_CONTROL.new; mv $PROXY_CONTROL.new $PROXY_CONTROL\"; echo code \$?
    $inner" "$inner"
  ends 15s a "exit 0"
  dropped
  [ "$(tr '\n' ' ' <"$T/a.out")" = "2 2 code 0 1 1 " ]
  [ ! -s "$T/a.err" ]
  assert_free nested-r
}

@test "a signal while the answer to acquire is lost: nothing is left, nothing was started" {
  local s
  for s in TERM INT; do one_is_undone mute lost_to "$s"; done
}
lost_to() { # SIGNAL NAME
  dlock_run "$1" $long "$2" -- touch "$T/started"
  eventually 5s dropped
  kill -"$1" "$(cat "$T/$1.pid")"
  ends 5s "$1" "signal $(kill -l "$1")"
  [ ! -e "$T/started" ]
}

# one_is_undone HOW TRY…: a run of the name that TRY gets, whose acquire is not answered, gives it back.
# It has 0.3 s for that, which a busy machine may use up; so of five names one must be free.
one_is_undone() {
  local how=$1 name
  shift
  for name in "$*-"{1,2,3,4,5}; do
    : >"$PROXY_LOG"
    proxy drop 1 EVAL "$how"
    "$@" "$name"
    dropped
    proxy pass
    if eventually 2s is_free "$name"; then return; fi
  done
  return 1
}

@test "out of -w while the answer to acquire is lost: nothing is left, nothing was started" {
  one_is_undone mute started_or_not -w 1s
}
started_or_not() { # OPTION… NAME
  rm -f "$T/started"
  dlock_run a $long "$@" -- touch "$T/started"
  eventually 10s ended a
  # Granted by a repetition is right as well, if there was time for one.
  case $(cat "$T/a.end") in
    "exit 69" | "exit 75") [ ! -e "$T/started" ] ;;
    "exit 0") [ -e "$T/started" ] ;;
    *) cat "$T/a.end"; false ;;
  esac
}

@test "-n and the answer is lost: nothing is left" {
  one_is_undone close started_or_not -n
}

@test "N05: an acquire that reaches the server after we gave up does not hold the lock past its lease" {
  proxy hold 1 EVAL 2500
  dlock_run a --ttl 2s -w 1s late -- touch "$T/started"
  eventually 8s ended a
  grep -qE '^exit (69|75)$' "$T/a.end"
  [ ! -e "$T/started" ]
  eventually 6s grep -qFx -- '-- arrived' "$PROXY_LOG"
  key_exists late
  proxy pass
  run -0 "$DLOCK" run -w 8s late -- true
}

@test "N12: a grant that came too late for its lease is released: 69, nothing was started" {
  proxy delay 900
  dlock_run a --ttl 2s --connect-timeout 8s slow -- touch "$T/started"
  ends 10s a "exit 69"
  grep -q 'too slow' "$T/a.err"
  [ ! -e "$T/started" ]
  proxy pass
  eventually 3s is_free slow
}

@test "N03: only the holder is cut off: it is stopped, and the next starts after its last tick" {
  dlock_run a --ttl 2s cut-off -- "$TICKER" "$TICKS" ignore 15 fork
  eventually 5s ticking
  DLOCK_URL=redis+unix://$REDIS_SOCKET dlock_run b cut-off -- "$TICKER" "$T/ticks-next" for 50
  proxy blackhole
  ends 8s a "exit 79"
  ends 8s b "exit 0"
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-next")" ]
}

@test "R24: a late answer on a dropped connection is never taken for the answer to something else" {
  dlock_run a -v --ttl 6s -k 200ms late-answers -- "$TICKER" "$TICKS" for 4000 code 6
  eventually 5s ticking
  proxy delay 1500 # a call has 600
  : >"$PROXY_LOG" # what came before was not delayed
  eventually 5s grep -q EVAL "$PROXY_LOG"
  proxy pass
  ends 10s a "exit 6"
  grep -q 'trying again' "$T/a.err"
  assert_free late-answers
}
