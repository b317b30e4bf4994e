#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A failover by sentinels while locks are held and waited for, and a cut with the holder on the wrong
# side of it.
# shellcheck disable=SC2154,SC2016  # *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite ticker cli leases replicas sentinels

# cut_off REPLICAS: the holder (a) and its master are cut off from replicas, sentinels and a rival (b);
# 60 s later the cut is healed.
cut_off() {
  BEHIND_PROXY=yes start_set 2
  start_sentinels
  DLOCK_URL=redis://127.0.0.1:${SET_PORTS[0]} dlock_run a --ttl 6s -k 500ms --replicas "$1" cut -- \
    "$TICKER" "$TICKS" for 75000
  eventually 10s ticking
  proxy blackhole
  eventually 20s switched
  dlock_run b --ttl 6s cut -- "$TICKER" "$T/ticks-b" for 20000
  eventually 30s ticking "$T/ticks-b"
  sleep 50 # the cut lasts a minute
  proxy pass
}

# bats test_tags=nightly
@test "F03: a holder that is cut off with its master ends before the next one begins, with --replicas 1" {
  cut_off 1
  ends 20s a "exit 79"
  ends 30s b "exit 0"
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-b")" ]
}

# bats test_tags=nightly
@test "F03: with --replicas 0 both run: that is what --replicas is for" {
  cut_off 0
  ends 40s b "exit 0"
  [ "$(last_tick)" -gt "$(first_tick "$T/ticks-b")" ]
  eventually 20s ended a
}

# bats test_tags=nightly
@test "F05: two waiters keep their order over a failover, and the first enters after the release" {
  start_set 2
  start_sentinels
  dlock_run a --ttl 20s line -- "$TICKER" "$TICKS" until "$T/go"
  eventually 10s ticking
  dlock_run b --ttl 20s line -- sh -c "echo b >>'$T/order'"
  eventually 10s waiting_at 0 1
  dlock_run c --ttl 20s line -- sh -c "echo c >>'$T/order'"
  eventually 10s waiting_at 0 2
  kill -KILL "${SET_PIDS[0]}"
  eventually 20s switched
  eventually 20s waiting_at "$(named_master)" 2
  eventually 20s file_has "$T/a.err" 'the master of "line" is now '
  [ ! -e "$T/order" ]
  touch "$T/go"
  ends 10s a "exit 0"
  ends 20s b "exit 0"
  ends 20s c "exit 0"
  assert_equal "$(cat "$T/order")" $'b\nc'
}
waiting_at() { [ "$(on "$1" zcard "dlock:line:{dlock:line}")" = "$2" ]; }

# bats test_tags=nightly
@test "F01: a hold that the new master does not have is lost in a failover: said so, 79, a larger token next" {
  start_set 1
  start_sentinels
  on 1 config set masterauth wrong # the master refuses it from now on
  on 1 client kill type master
  dlock_run a --ttl 30s -k 500ms --replicas 0 gone -- "$TICKER" "$TICKS" for 40000
  eventually 10s ticking
  local token
  token=$(on 0 hvals "dlock:holds:{dlock:gone}" | grep -oP '"token":\K[0-9]+')
  kill -KILL "${SET_PIDS[0]}"
  eventually 20s file_has "$T/a.err" 'lost "gone" in a failover: redis://127.0.0.1:'
  file_has "$T/a.err" "became master without it; stopping the command"
  ends 10s a "exit 79"
  run -0 "$DLOCK" run --replicas 0 gone -- sh -c 'echo "$DLOCK_TOKEN"'
  [ "$output" -gt "$token" ]
}

# bats test_tags=nightly
@test "F02: a planned failover leaves a hold its owner and its token, and the command its code" {
  start_set 1
  start_sentinels
  dlock_run a --ttl 30s planned -- "$TICKER" "$TICKS" until "$T/go" code 6
  eventually 10s ticking
  local record
  record=$(on 0 hgetall "dlock:holds:{dlock:planned}")
  sentinel 0 failover mymaster
  eventually 20s file_has "$T/a.err" 'the master of "planned" is now '
  assert_equal "$(on 1 hgetall "dlock:holds:{dlock:planned}")" "$record"
  touch "$T/go"
  ends 10s a "exit 6"
  eventually 5s no_lock_at planned 1
}

# bats test_tags=nightly
@test "F09: a master that is back before it is replaced: with an AOF the hold lives on, without its data it is lost" {
  local lasting=(--appendonly yes --appendfsync always) before token
  start_set 1
  start_sentinels 30000
  kill_member 0
  start_member 0 "${lasting[@]}"
  eventually 20s replicas_online 1
  dlock_run a -v --ttl 20s -k 500ms back -- "$TICKER" "$TICKS" until "$T/go" code 6
  eventually 10s ticking
  token=$(on 0 hvals "dlock:holds:{dlock:back}" | grep -oP '"token":\K[0-9]+')
  kill_member 0
  start_member 0 "${lasting[@]}"
  before=$(renewals a back)
  eventually 20s renewed_more_than a back "$before"
  touch "$T/go"
  ends 10s a "exit 6"
  dlock_run b --ttl 20s -k 500ms back -- "$TICKER" "$T/ticks-b" for 40000
  eventually 10s ticking "$T/ticks-b"
  kill_member 0
  rm -r "$T/0/appendonly"*
  start_member 0
  ends 20s b "exit 79"
  eventually 20s replicas_online 1
  no_lock_at back 0 1
  run -0 "$DLOCK" run back -- sh -c 'echo "$DLOCK_TOKEN"'
  [ "$output" -gt "$token" ]
}
