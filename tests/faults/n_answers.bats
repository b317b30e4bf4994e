#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Requests and answers that are cut off, late, doubled or overtake each other: what is not answered
# is unknown, a lease counts from the question, and what arrives twice counts once.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031  # *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite server ticker leases

setup() {
  set_up
  start_proxy
}
# Past every proxy.
straight() { DLOCK_URL=redis+unix://$REDIS_SOCKET "$@"; }

@test "N01: connections that are reset: a short while is ridden out, a long one is 79" {
  export DLOCK_URL=$PROXY_URL
  dlock_run b --ttl 9s short -- sh -c 'touch "$0.in"; until [ -e "$0" ]; do sleep 0.02; done; exit 6' "$T/go"
  eventually 5s test -e "$T/go.in"
  hold_deaf reset
  proxy reset
  dead_before_the_end_of_the_lease "$(boot_ms)"
  eventually 8s grep -q short "$PROXY_LOG"
  proxy pass
  touch "$T/go"
  ends 10s b "exit 6"
  [ ! -s "$T/b.err" ]
  assert_free short
  eventually 4s is_free reset
}

@test "N06: undo and acquire in either order: the ghost is gone after a lease at most" {
  local i
  kill -STOP "$REDIS_PID"
  for i in 1 2 3 4 5 6 7 8 9 10; do
    straight dlock_run "a$i" --ttl 2s -w "0.$i" "ghost-$i" -- touch "$T/started"
  done
  for i in 1 2 3 4 5 6 7 8 9 10; do
    eventually 10s ended "a$i"
    grep -qE '^exit (69|75)$' "$T/a$i.end"
  done
  kill -CONT "$REDIS_PID"
  [ ! -e "$T/started" ]
  for i in 1 2 3 4 5 6 7 8 9 10; do
    straight run -0 "$DLOCK" run -w 10 "ghost-$i" -- true
    assert_free "ghost-$i"
  done
}

@test "N08: a late answer extends nothing: the lease counts from the question" {
  # The answer to the acquire is 0.8 s late, and nothing comes through after it. When the server
  # will end the lease is read by the command, from the server itself.
  proxy late 1 EVAL 800
  DLOCK_URL=$PROXY_URL dlock_run a --ttl 6s -k 200ms late -- sh -c 'trap "" TERM
    echo blackhole >"$0.new"; mv "$0.new" "$0"
    redis-cli -s "$REDIS_SOCKET" pttl dlock:late >"$1/left"
    echo in >"$1/in"; exec "$TICKER" "$TICKS" ignore 15' "$PROXY_CONTROL" "$T"
  eventually 8s file_has "$T/in"
  local end
  end=$(($(boot_ms) + $(cat "$T/left")))
  ends 12s a "exit 79"
  ticker_gone
  [ "$(late_by "$end")" = 0 ]
  [ "$(cat "$T/left")" -lt 5300 ]
}

# sections WHO: twenty holds of one lock, each a section that cannot bear two.
sections() {
  local i
  for i in $(seq 20); do
    "$DLOCK" run --ttl 3s -k 200ms -w 60 twice -- sh -c 'mkdir "$0/inside" || exit 9
      read n <"$0/count"; sleep "0.0$1"; echo $((n + 1)) >"$0/count"
      rmdir "$0/inside"' "$T" $((RANDOM % 9 + 1)) || return
  done
}

@test "N10: requests that arrive twice, up to half a second later: no effect" {
  proxy duplicate EVAL 500
  export -f sections
  export DLOCK_URL=$PROXY_URL T
  echo 0 >"$T/count"
  spawn a bash -c sections
  spawn b bash -c sections
  ends 120s a "exit 0"
  ends 120s b "exit 0"
  [ "$(cat "$T/count")" = 40 ]
  [ "$(grep -c -- '-- duplicated' "$PROXY_LOG")" -gt 80 ]
  # Nobody was told that a lock is not his.
  run ! grep -E 'lost|not ours' "$T/a.err" "$T/b.err"
  eventually 6s is_free twice
}

@test "N10: a renewal and a nested hold that arrive twice leave the count right" {
  proxy duplicate EVAL 300
  DLOCK_URL=$PROXY_URL dlock_run a --ttl 3s -k 200ms doubled -- sh -c '
    for _ in 1 2 3 4 5 6 7 8; do "$DLOCK" run doubled -- sleep 0.4; done # before it ends, too
    sleep 0.5 # longer than a duplicate is on its way
    redis-cli -s "$REDIS_SOCKET" hvals dlock:doubled >"$0/count"
    redis-cli -s "$REDIS_SOCKET" hlen "dlock:holds:{dlock:doubled}" >"$0/holds"' "$T"
  ends 20s a "exit 0"
  [ ! -s "$T/a.err" ]
  [ "$(cat "$T/count")" = 1 ]
  [ "$(cat "$T/holds")" = 1 ]
  proxy pass
  eventually 6s is_free doubled
}

@test "N16: two hundred wait through an outage: all run, one at a time, and do not storm the server" {
  start_other aof --appendonly yes
  export DLOCK_URL=$OTHER_URL
  echo 0 >"$T/count"
  : >"$T/failed"
  "$DLOCK" run prime -- true
  local i before made pids=()
  dlock_run first --ttl 30s crowd -- sh -c 'until [ -e "$0" ]; do sleep 0.05; done' "$T/go"
  eventually 5s crowd_held
  for i in $(seq 200); do
    "$DLOCK" run -q --connect-timeout 60s -w 110 crowd -- \
      sh -c 'read n <"$0"; echo $((n + 1)) >"$0"' "$T/count" 2>>"$T/failed" 3>&- &
    pids+=($!)
  done
  STARTED+=("${pids[@]}")
  eventually 60s crowd_waits
  kill -KILL "$OTHER_PID"
  eventually 5s gone "$OTHER_PID"
  sleep 3
  start_other aof --appendonly yes
  sleep 2
  before=$(o info stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p')
  touch "$T/go"
  ends 20s first "exit 0"
  made=0
  for i in "${pids[@]}"; do wait "$i" || made=$((made + 1)); done
  [ "$made" = 0 ] || { echo "$made failed"; sort "$T/failed" | uniq -c | head; false; }
  [ "$(cat "$T/count")" = 200 ]
  # Each needs two: one to ask on and one to be woken on. Not one for each of 200 hand-offs.
  [ "$before" -lt 3000 ] || { echo "$before connections in two seconds"; false; }
}
crowd_held() { [ "$(o exists dlock:crowd)" = 1 ]; }
crowd_waits() { [ "$(o zcard 'dlock:line:{dlock:crowd}')" -ge 195 ]; }
