#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The command never outlives its lease: when the lock is taken away, or cannot be renewed in time,
# all of the command's group is stopped, dlock says why and exits with 79, and nothing of another's
# is touched.
# shellcheck disable=SC2016,SC2154  # *_pid are set by spawn; the children expand what is quoted

load ../support/suite
suite server cli ticker leases

@test "R10: the key is deleted: the whole group is stopped, 79, and the key is never made again" {
  hold_deaf deleted
  listen
  local at
  at=$(boot_ms)
  r del dlock:deleted
  stopped_in_time_after "$at"
  never_recreated deleted
  assert_free deleted
  grep -q '"deleted"' "$T/a.err"
}

@test "R12: another owner's lock is at the key: the group is stopped, 79, that lock is untouched" {
  hold_deaf stolen
  listen
  local at
  at=$(boot_ms)
  r eval 'redis.call("del", KEYS[1]) redis.call("hset", KEYS[1], "other:1", 3) redis.call("pexpire", KEYS[1], 60000)' 1 dlock:stolen
  stopped_in_time_after "$at"
  [ "$(r hgetall dlock:stolen)" = $'other:1\n3' ]
  [ "$(lock_ttl stolen)" -gt 45000 ]
  grep -q 'other:1' "$T/a.err"
}

# bats test_tags=nightly
@test "R12: a key of another type is at the key: the group is stopped, 79, the key is untouched" {
  hold_deaf typed
  local at
  at=$(boot_ms)
  r set dlock:typed theirs px 60000
  stopped_in_time_after "$at"
  [ "$(r get dlock:typed)" = theirs ]
  [ "$(lock_ttl typed)" -gt 45000 ]
  grep -q 'foreign' "$T/a.err"
}

@test "R09: FLUSHALL: the group is stopped, 79, nothing is made again, the next token is larger" {
  hold_deaf flushed
  listen
  local at before
  before=$(r get 'redisson_lock_token:{dlock:flushed}')
  at=$(boot_ms)
  r flushall
  stopped_in_time_after "$at"
  never_recreated flushed
  [ "$(r dbsize)" = 0 ]
  # shellcheck disable=SC2016  # for the inner shell
  run -0 "$DLOCK" run flushed -- sh -c 'echo $DLOCK_TOKEN'
  [ "$output" -gt "$before" ]
}

# bats test_tags=nightly
@test "R13: RENAME: the group is stopped, 79, and what was renamed dies by its lease" {
  hold_deaf renamed
  local at
  at=$(boot_ms)
  r rename dlock:renamed dlock:elsewhere
  stopped_in_time_after "$at"
  assert_free renamed
  eventually 4s key_gone elsewhere
}

@test "with --on-lost warn the command runs on, a line says so, and its code is passed on" {
  dlock_run a --ttl 3s --on-lost warn warned -- "$TICKER" "$TICKS" until "$T/go" code 4
  eventually 5s ticking
  listen
  r del dlock:warned
  eventually 8s grep -q 'lost "warned"' "$T/a.err"
  sleep 3.2 # longer than the lease would have been
  touch "$T/go"
  ends 8s a "exit 4"
  grep -q ' end$' "$TICKS"
  [ "$(grep -c 'lost "warned"' "$T/a.err")" = 1 ]
  never_recreated warned
  assert_free warned
}

@test "with --on-lost warn an outage longer than the lease does not stop the command" {
  dlock_run a --ttl 2s --on-lost warn warned-outage -- "$TICKER" "$TICKS" until "$T/go" code 4
  eventually 5s ticking
  kill -STOP "$REDIS_PID"
  sleep 3
  touch "$T/go"
  eventually 8s grep -q ' end$' "$TICKS"
  kill -CONT "$REDIS_PID"
  ends 8s a "exit 4"
  grep -q 'warned-outage' "$T/a.err"
}

@test "with --on-lost warn the guard lets the command of a frozen dlock run on, and kills that of a dead one" {
  dlock_run a --ttl 1s --on-lost warn frozen -- "$TICKER" "$TICKS"
  eventually 5s ticking
  kill -STOP "$a_pid"
  eventually 8s key_gone frozen
  local before
  before=$(wc -l <"$TICKS")
  eventually 5s ticked_more "$before"
  kill -KILL "$a_pid"
  eventually 5s ticker_gone
}
ticked_more() { [ "$(wc -l <"$TICKS")" -gt $(($1 + 30)) ]; }

@test "R11: PERSIST: the next renewal sets the lease again, and the run is undisturbed" {
  dlock_run a --ttl 3s -k 200ms persisted -- "$TICKER" "$TICKS" for 4500 code 5
  eventually 5s ticking
  r persist dlock:persisted
  eventually 3s has_ttl persisted
  ends 8s a "exit 5"
  [ ! -s "$T/a.err" ]
  assert_free persisted
}
has_ttl() { [ "$(lock_ttl "$1")" -gt 0 ]; }

@test "K08: force-release: the holder's group is gone before the next one starts, 79, both are named" {
  hold_deaf revoked
  dlock_run b revoked -- "$TICKER" "$T/ticks-next" for 100
  eventually 5s waiter_there
  run -0 "$DLOCK" force-release --yes revoked
  [[ $output == *"pid $a_pid"* ]]
  ends 8s a "exit 79"
  ends 8s b "exit 0"
  ticker_gone
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-next")" ]
  grep -q "revoked.*$(id -un)@" "$T/a.err"
  assert_free revoked
}
waiter_there() { [ "$(r pubsub numsub 'redisson_lock__channel:{dlock:revoked}' | tail -1)" = 1 ]; }

@test "P19 R24: the server freezes for longer than the lease: the group is dead before the lease can end, 79" {
  hold_deaf frozen
  kill -STOP "$REDIS_PID"
  local at
  at=$(boot_ms)
  ends 10s a "exit 79"
  kill -CONT "$REDIS_PID"
  ticker_gone
  [ "$(late_by $((at + 3000)))" = 0 ]
  grep -q '"frozen"' "$T/a.err"
  eventually 4s is_free frozen
}

@test "R24: the server freezes: another one is granted only after the last tick" {
  hold_deaf frozen-rival
  dlock_run b frozen-rival -- "$TICKER" "$T/ticks-next" for 20
  kill -STOP "$REDIS_PID"
  ends 10s a "exit 79"
  kill -CONT "$REDIS_PID"
  ends 10s b "exit 0"
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-next")" ]
}

@test "a command that obeys is asked first: TERM comes a grace before the end of the lease" {
  dlock_run a --ttl 3s asked -- "$TICKER" "$TICKS" catch 15
  eventually 5s ticking
  kill -STOP "$REDIS_PID"
  local at
  at=$(boot_ms)
  ends 10s a "exit 79"
  kill -CONT "$REDIS_PID"
  grep -q signal-15 "$TICKS"
  [ "$(late_by $((at + 3000)))" = 0 ]
}

# bats test_tags=nightly
@test "R24: a freeze shorter than the slack is ridden out in silence, at -v with a line" {
  dlock_run a --ttl 6s -k 200ms short -- "$TICKER" "$TICKS" for 4000 code 6
  dlock_run b -v --ttl 6s -k 200ms short-v -- sleep 4
  eventually 5s ticking
  eventually 5s key_exists short-v
  kill -STOP "$REDIS_PID"
  eventually 5s grep -qiE 'no answer|timed out|cannot reach|trying again' "$T/b.err"
  kill -CONT "$REDIS_PID"
  ends 10s a "exit 6"
  ends 10s b "exit 0"
  [ ! -s "$T/a.err" ]
  assert_free short
}

@test "R26: CLIENT KILL: dlock connects again in silence" {
  dlock_run a --ttl 3s -k 200ms killed -- "$TICKER" "$TICKS" for 4500 code 6
  eventually 5s ticking
  local i
  for i in 1 2 3; do
    r client kill type normal
    sleep 1.2 # a renewal lies between two of them
  done
  ends 8s a "exit 6"
  [ ! -s "$T/a.err" ]
  assert_free killed
}

@test "R03: a server killed and back with its data inside the slack is ridden out in silence" {
  start_other aof --appendonly yes
  DLOCK_URL=$OTHER_URL dlock_run a --ttl 6s -k 500ms restarted -- "$TICKER" "$TICKS" for 5000 code 6
  eventually 5s ticking
  local owner
  owner=$(o hkeys dlock:restarted)
  kill -KILL "$OTHER_PID"
  eventually 5s gone "$OTHER_PID"
  start_other aof --appendonly yes
  [ "$(o hkeys dlock:restarted)" = "$owner" ]
  ends 10s a "exit 6"
  [ ! -s "$T/a.err" ]
  [ "$(o exists dlock:restarted)" = 0 ]
}

@test "R05: a server back without its data: the group is stopped, 79, nothing is made again" {
  start_other empty --appendonly no
  DLOCK_URL=$OTHER_URL dlock_run a --ttl 3s forgotten -- sh -c "$deaf" "$TICKS"
  eventually 5s two_tick
  kill -KILL "$OTHER_PID"
  eventually 5s gone "$OTHER_PID"
  start_other empty --appendonly no
  ends 10s a "exit 79"
  ticker_gone
  [ "$(o exists dlock:forgotten)" = 0 ]
}

@test "R04: a server that is gone for good: the group is dead before the lease can end, 79" {
  start_other dead --appendonly no
  DLOCK_URL=$OTHER_URL dlock_run a --ttl 3s dead -- sh -c "$deaf" "$TICKS"
  eventually 5s two_tick
  kill -KILL "$OTHER_PID"
  local at
  at=$(boot_ms)
  ends 10s a "exit 79"
  ticker_gone
  [ "$(late_by $((at + 3000)))" = 0 ]
}

@test "R19: a server that became a replica is not believed: the clock stops the command, 79" {
  start_other demoted --appendonly no
  DLOCK_URL=$OTHER_URL dlock_run a --ttl 3s demoted -- sh -c "$deaf" "$TICKS"
  eventually 5s two_tick
  local at
  o replicaof 127.0.0.1 1
  at=$(boot_ms) # behind the cut: until then a renewal may succeed
  ends 10s a "exit 79"
  ticker_gone
  [ "$(late_by $((at + 3000)))" = 0 ]
  # Not `lost`: nobody who may say so has said so.
  run ! grep -q 'lost' "$T/a.err"
  grep -q '"demoted"' "$T/a.err"
}

@test "R19: a server that was a replica for a moment: the command goes on" {
  start_other moment --appendonly no
  DLOCK_URL=$OTHER_URL dlock_run a --ttl 6s -k 200ms moment -- "$TICKER" "$TICKS" until "$T/go" code 6
  eventually 5s ticking
  o replicaof 127.0.0.1 1
  eventually 8s renewal_refused
  o replicaof no one
  eventually 5s renewed
  touch "$T/go"
  ends 8s a "exit 6"
  [ ! -s "$T/a.err" ]
}
renewal_refused() { o info errorstats | grep -q '^errorstat_READONLY'; }
# By a renewal after that: the lease is longer than it was when the first of them was due.
renewed() { [ "$(o pttl dlock:moment)" -gt 4500 ]; }

@test "R19: an empty replica says nothing about a lock that its master has" {
  start_other answer --appendonly no
  DLOCK_URL=$OTHER_URL dlock_run a --ttl 3s answer -- sh -c "$deaf" "$TICKS"
  eventually 5s two_tick
  local at
  # At once, or a renewal in between would get a master's verdict.
  printf '%s\n' multi 'del dlock:answer' 'replicaof 127.0.0.1 1' exec | o >"$T/said"
  at=$(boot_ms)
  run ! grep -qi err "$T/said"
  ends 10s a "exit 79"
  [ "$(late_by $((at + 3000)))" = 0 ]
  run ! grep -q lost "$T/a.err"
}

@test "P04: dlock stopped for longer than the lease: no renewal is sent when it goes on, 79" {
  dlock_run a --ttl 2s slept -- "$TICKER" "$TICKS"
  eventually 5s ticking
  kill -STOP "$a_pid"
  eventually 4s key_gone slept
  r hset dlock:slept other:1 1
  listen
  kill -CONT "$a_pid"
  ends 5s a "exit 79"
  ticker_gone
  [ "$(r hgetall dlock:slept)" = $'other:1\n1' ]
  hear_out
  [ "$(grep -c '"EVALSHA"' "$T/monitor")" -le 1 ]  # the release, and no renewal before it
}

# bats test_tags=nightly
@test "P05: dlock stopped for less than the slack: the command goes on" {
  dlock_run a --ttl 6s -k 200ms napped -- "$TICKER" "$TICKS" for 6500 code 6
  eventually 5s ticking
  kill -STOP "$a_pid"
  sleep 2.5 # past the time of a renewal
  kill -CONT "$a_pid"
  ends 8s a "exit 6"
  [ ! -s "$T/a.err" ]
}

@test "lost and ended in the same instant: the command's code, or 79 if it was stopped for it" {
  local i
  for i in 1 2 3 4 5; do
    dlock_run "a$i" --ttl 6s "instant-$i" -- sh -c "until [ -e $T/go$i ]; do sleep 0.01; done; exit 5"
    eventually 5s key_exists "instant-$i"
    touch "$T/go$i"
    r del "dlock:instant-$i"
    eventually 5s ended "a$i"
    case $(cat "$T/a$i.end") in
      "exit 5") ;;
      "exit 79") grep -q stopping "$T/a$i.err" ;;
      *) cat "$T/a$i.end" "$T/a$i.err"; false ;;
    esac
  done
}

@test "R38: a password that is changed during a hold is read again from its file: the command goes on" {
  second_redis --requirepass sesame
  printf 'sesame\n' >"$T/password"
  chmod 600 "$T/password"
  dlock_run a --url "$SECOND_URL" --ttl 2s --password-file "$T/password" a -- sh -c 'touch "$0/in"; sleep 3' "$T"
  eventually 10s test -e "$T/in"
  r2 -a sesame config set requirepass other 2>/dev/null
  (umask 077; printf 'other\n' >"$T/new")
  mv "$T/new" "$T/password"
  r2 -a other client kill type normal skipme yes 2>/dev/null
  ends 10s a "exit 0"
}
