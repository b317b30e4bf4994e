#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A server that comes back without its data, with old data or with all of it, or loses some for lack
# of memory. Where the lock is gone two may run, but only until the next renewal: then the holder is
# stopped with 79, touches nothing of another's, and every later grant has a larger token.
# shellcheck disable=SC2154,SC2016  # *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite ticker leases

# start NAME [OPTION…]: a server of the test's own, the one dlock talks to.
start() {
  start_other "$@"
  export DLOCK_URL=$OTHER_URL
}
kill_server() {
  kill -KILL "$OTHER_PID"
  eventually 5s gone "$OTHER_PID"
}
next_token() { "$DLOCK" run "$1" -- sh -c 'echo $DLOCK_TOKEN'; }

@test "R04: killed for good, later back with its data: the next is granted after the last tick" {
  start aof --appendonly yes
  hold_deaf dead
  dlock_run b --connect-timeout 60s dead -- "$TICKER" "$T/ticks-b" for 20
  local at
  kill_server
  at=$(boot_ms)
  dead_before_the_end_of_the_lease "$at"
  start aof --appendonly yes
  ends 10s b "exit 0"
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-b")" ]
  [ "$(o exists dlock:dead)" = 0 ]
}

@test "R05: back without its data: stopped at the next renewal, another's lock is not touched" {
  start empty --appendonly no
  hold_deaf forgotten -k 200ms
  local at
  at=$(boot_ms)
  kill_server
  start empty --appendonly no
  hold_as b forgotten --ttl 30s -k 100ms
  stopped_in_time_after "$at"
  # The other runs on, with its lock and a larger token.
  [ "$(token_of b)" -gt "$(token_of a)" ]
  [ "$(o hvals dlock:forgotten)" = 1 ]
  [ "$(o hlen 'dlock:holds:{dlock:forgotten}')" = 1 ]
  kill -TERM "$b_pid"
  eventually 15s ended b
  [ ! -s "$T/b.err" ] || ! grep -q lost "$T/b.err"
}

@test "R06: back with old data: the holder is stopped, the ghost of the one before goes by itself" {
  start old
  "$DLOCK" run --ttl 8s ghost -- redis-cli -s "$OTHER_SOCKET" save
  hold_deaf ghost -k 200ms
  local at ghost
  at=$(boot_ms)
  kill_server
  start old
  ghost=$(o hgetall dlock:ghost)
  stopped_in_time_after "$at"
  # The release of the second has left the lock of the first alone, if its time was not over.
  [ "$(o hgetall dlock:ghost)" = "$ghost" ] || [ "$(o exists dlock:ghost)" = 0 ]
  run -0 timeout 20 "$DLOCK" run -w 15 ghost -- sh -c 'echo $DLOCK_TOKEN'
  [ "${lines[-1]}" -gt "$(token_of a)" ]
}

@test "R07: a power loss takes the grant: stopped at the next renewal, the next token is larger" {
  start aof --appendonly yes
  "$DLOCK" run lost-write -- true
  local file size at
  file=$(echo "$T"/aof/appendonlydir/*.incr.aof)
  size=$(stat -c %s "$file")
  hold_deaf lost-write -k 200ms
  at=$(boot_ms)
  kill_server
  truncate -s "$size" "$file"
  start aof --appendonly yes
  [ "$(o exists dlock:lost-write)" = 0 ]
  stopped_in_time_after "$at"
  [ "$(o exists dlock:lost-write)" = 0 ]
  [ "$(next_token lost-write)" -gt "$(token_of a)" ]
}

@test "R08: a clean restart: the lease runs on; in time the run is undisturbed, later it is 79" {
  start clean --appendonly yes
  dlock_run long --ttl 60s long -- sh -c 'until [ -e "$0" ]; do sleep 0.05; done; exit 6' "$T/go"
  eventually 5s held_there
  hold_as short short
  local before down after
  before=$(o pttl dlock:long)
  o shutdown || true
  eventually 5s gone "$OTHER_PID"
  down=$(boot_ms)
  dead_before_the_end_of_the_lease "$down" short
  down=$(($(boot_ms) - down))
  start clean --appendonly yes
  after=$(o pttl dlock:long)
  [ "$after" -le $((before - down)) ]
  [ "$after" -gt 0 ]
  touch "$T/go"
  ends 10s long "exit 6"
  [ ! -s "$T/long.err" ]
  eventually 4s free_there
}
held_there() { [ "$(o exists dlock:long)" = 1 ]; }
free_there() { [ "$(o exists dlock:long dlock:short)" = 0 ]; }

@test "R11: the key loses its lease and its holder dies: the waiter gets the lock all the same" {
  start persisted
  dlock_run a --ttl 4s -k 200ms persisted -- "$TICKER" "$TICKS" for 60000
  eventually 5s ticking
  o persist dlock:persisted
  # Told that there is no end to wait for.
  dlock_run b persisted -- true
  eventually 5s has_lease
  [ ! -s "$T/b.end" ]
  kill -KILL "$a_pid"
  ends 15s b "exit 0"
}
has_lease() { [ "$(o pttl dlock:persisted)" -gt 0 ]; }

# fill_until_gone NAME: writes until the lock's key is evicted, or nothing more is taken; gives up
# after a while, as no policy promises to evict a certain key.
fill_until_gone() {
  local round
  for round in $(seq 40); do
    o eval 'for i = 1, 500 do
        local said = redis.pcall("SET", "fill" .. ARGV[1] .. "-" .. i, string.rep("x", 900))
        if said.err then return said.err end
      end return "all"' 0 "$round" | grep -q OOM && return
    [ "$(o exists "dlock:$1")" = 1 ] || return 0
  done
}

@test "R14: evicted for lack of memory, by every policy: 79 and a larger token; noeviction keeps it" {
  local policy before evicted=0
  start full
  for policy in allkeys-lru allkeys-lfu allkeys-random volatile-lru volatile-lfu volatile-random \
    volatile-ttl noeviction; do
    o config set maxmemory 0 maxmemory-policy "$policy"
    o flushall
    dlock_run a --ttl 4s -k 200ms "$policy" -- sh -c 'echo "$DLOCK_TOKEN" >"$0/token-$DLOCK_NAME"
      until [ -e "$0/kept-$DLOCK_NAME" ]; do sleep 0.02; done' "$T"
    eventually 5s file_has "$T/token-$policy"
    before=$(cat "$T/token-$policy")
    o config set maxmemory $(($(o info memory | sed -n 's/^used_memory:\([0-9]*\).*/\1/p') + 1000000))
    fill_until_gone "$policy"
    if [ "$(o exists "dlock:$policy")" = 0 ] && [ "$policy" != noeviction ]; then
      evicted=$((evicted + 1))
      ends 5s a "exit 79"
    else
      sleep 4.2 # more than a lease
      [ "$(o exists "dlock:$policy")" = 1 ]
      touch "$T/kept-$policy"
      ends 5s a "exit 0"
    fi
    [ "$(o exists "dlock:$policy")" = 0 ]
    o config set maxmemory 0
    [ "$(next_token "$policy")" -gt "$before" ]
  done
  [ -e "$T/kept-noeviction" ]
  [ "$evicted" -ge 5 ]
}
