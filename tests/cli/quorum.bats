#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: of several independent servers a majority keeps a lock, whichever of the others are dead,
# frozen or empty.
# shellcheck disable=SC2154,SC2016  # *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite ticker clock_shim cli supervise leases clocks replicas quorum refused store_cases

# A run starts and ends with a majority. The others are asked at the same time, but a server that has
# to learn a script is asked twice, and may be late. Where that is not the matter, they know the scripts.
know_scripts() {
  local url
  for url in $DLOCK_URL; do "$DLOCK" --url "$url" run other -- true; done
}

@test "a run holds the lock on all servers, nests, and releases it on all" {
  start_quorum 3
  know_scripts
  run -0 --separate-stderr "$DLOCK" run a -- sh -c '"$0" run a -- printenv DLOCK_TOKEN; printenv DLOCK_TOKEN
    for i in 0 1 2; do redis-cli -s "$1/$i.sock" exists dlock:a; done' "$DLOCK" "$T"
  [ -z "$stderr" ]
  [ "${lines[0]}" = "${lines[1]}" ]
  assert_equal "${lines[*]:2}" "1 1 1"
  eventually 10s no_lock_at a 0 1 2
}

@test "36: --slots, --replicas, one server twice and a number of servers that is no quorum are refused" {
  start_quorum 3
  refused 64 run --slots 2 a -- touch "$MARKER"
  assert_stderr_has 'a majority of servers cannot count slots; use one URL, or one lock name for each slot'
  refused 64 run --replicas 1 a -- touch "$MARKER"; refused 64 run --or b a -- touch "$MARKER"
  refused 78 --url "redis+unix://$T/0.sock" --url "redis+unix://$T/1.sock" \
    --url "redis+unix://$T/0.sock" run a -- touch "$MARKER"
  assert_stderr_has 'is named twice; a server of a quorum has one vote'
  refused 78 --url "redis+unix://$T/0.sock" --url "redis://127.0.0.1:${SET_PORTS[0]}" \
    --url "redis://localhost:${SET_PORTS[0]}" run a -- touch "$MARKER"
  assert_stderr_has 'are one server, which has one vote'
  refused 78 --url redis://a --url redis://b run a -- touch "$MARKER"
  assert_stderr_has '2 URLs are given; give one, or the 3 to 9 of a quorum'
  refused 78 --url redis://a --url redis://b --url local:///c run a -- touch "$MARKER"
  DLOCK_QUORUM_DELAY=10s refused 64 run a -- touch "$MARKER"
  assert_stderr_has 'a ttl of 30s is longer than the quorum delay of 10s'
}

@test "the URLs may come from a list in the configuration file" {
  start_quorum 3
  know_scripts
  printf 'url = ["redis+unix://%s/0.sock", "redis+unix://%s/1.sock",\n "redis+unix://%s/2.sock"]\n' \
    "$T" "$T" "$T" >"$T/config.toml"
  run -0 env -u DLOCK_URL "$DLOCK" --config "$T/config.toml" run a -- \
    "$DLOCK" --config "$T/config.toml" inspect a
  assert_line --partial "redis+unix://$T/2.sock?db=0: held by "
}

@test "Q01 Q02: 31: with one of five servers dead and the leader frozen a run takes no longer; with three frozen it is refused" {
  start_quorum 5
  freeze 0
  kill_member 3
  run -0 timeout 10 "$DLOCK" --connect-timeout 1m run --ttl 5m a -- true # a server may take 30 s to answer
  freeze 1
  freeze 2
  run -69 --separate-stderr "$DLOCK" -v --connect-timeout 2s run a -- touch "$MARKER"
  assert_not_started
  assert_stderr_has 'no answer from a majority of '
  assert_stderr_has 'of 5 servers gave no vote'
  thaw 0
  thaw 1
  thaw 2
  eventually 10s no_lock_at a 0 1 2 4
  run -0 "$DLOCK" run a -- true
}

@test "Q03: 32: a holder of just two is completed; servers that restarted empty do not vote for the delay" {
  start_quorum 3
  export DLOCK_QUORUM_DELAY=6s
  # The servers have just started.
  eventually 20s "$DLOCK" -q --connect-timeout 200ms run --ttl 6s a -- true 2>"$T/young"
  kill_member 2
  dlock_run a --ttl 6s a -- sleep 60
  eventually 10s held_at a 0 1
  start_member 2
  eventually 10s held_at a 2
  # Of the three that it has now only one remembers it.
  kill -STOP "$a_pid"
  kill_member 0
  kill_member 2
  start_member 0
  start_member 2
  run -75 --separate-stderr "$DLOCK" run --ttl 6s -n a -- touch "$MARKER"
  assert_not_started
  assert_stderr_has 'started less than 6s ago and may have forgotten locks; it votes again in'
  DLOCK_QUORUM_DELAY=0 run -0 "$DLOCK" run --ttl 6s -n a -- true # which shows what the delay is for
  kill -CONT "$a_pid"
  ends 10s a "exit 79"
}

@test "a new set says why it does not vote yet" {
  start_quorum 3
  DLOCK_QUORUM_DELAY=60s run -69 --separate-stderr "$DLOCK" --connect-timeout 1s run -n a -- touch "$MARKER"
  assert_not_started
  assert_stderr_has '3 of 3 servers gave no vote'
  assert_stderr_has 'started less than 1m ago and may have forgotten locks'
  eventually 10s no_lock_at a 0 1 2
}

@test "a holder that loses its majority is stopped; with a majority left it goes on" {
  start_quorum 3
  dlock_run a --ttl 3s -k 200ms a -- sleep 60
  eventually 10s held_at a 0 1 2
  on 1 flushall >/dev/null
  eventually 10s held_at a 1 # completed by the next renewal
  kill -STOP "$a_pid" # a renewal between the two would complete the hold
  on 1 flushall >/dev/null
  on 2 flushall >/dev/null
  kill -CONT "$a_pid"
  ends 10s a "exit 79"
}

@test "Q06: runs that come at once enter one by one, in the leader's line" {
  start_quorum 3
  count_in_parallel 8 4
}

@test "the leader is killed: waiters wait at the next server, and all are served" {
  start_quorum 3
  dlock_run a a -- sh -c 'touch "$0/in"; while ! [ -e "$0/go" ]; do sleep 0.05; done' "$T"
  eventually 10s test -e "$T/in"
  dlock_run b a -- true
  dlock_run c a -- true
  eventually 10s in_line 0 2
  kill_member 0
  eventually 20s in_line 1 2
  touch "$T/go"
  ends 20s a "exit 0"
  ends 20s b "exit 0"
  ends 20s c "exit 0"
}

@test "the leader freezes: a waiter moves to the next line, and back when the leader is well" {
  start_quorum 3
  dlock_run a --ttl 20s a -- sh -c 'while ! [ -e "$0/go" ]; do sleep 0.05; done' "$T"
  eventually 10s held_at a 0 1 2
  dlock_run b --ttl 20s a -- true
  eventually 10s in_line 0 1
  freeze 0
  eventually 20s in_line 1 1
  thaw 0
  on 0 del 'dlock:waiters:{dlock:a}' 'dlock:line:{dlock:a}' >/dev/null # its old place
  eventually 20s in_line 0 1
  touch "$T/go"
  ends 20s a "exit 0"
  ends 20s b "exit 0"
  eventually 10s no_lock_at a 0 1 2
}
@test "a part of a hold that stays at the leader keeps no one from a lock that a majority has free" {
  start_quorum 3
  know_scripts
  "$DLOCK" --url "redis+unix://$T/0.sock" acquire --ttl 1m a >/dev/null
  sleep 0.3 # what is younger may be a rival's
  run -0 timeout 10 "$DLOCK" run a -- true
  held_at a 0
  eventually 10s no_lock_at a 1 2
  dlock_run a a -- sleep 60
  eventually 10s held_at a 1 2
  run -75 "$DLOCK" run -n a -- true
  dlock_run b a -- true
  eventually 10s in_line 0 1
  kill -TERM "$a_pid"
  ends 10s a "signal 15"
  ends 10s b "exit 0" # long before that lease of a minute ends
  held_at a 0
}

@test "the leader is frozen: who waits for less than the time to connect is refused with 75, and a free lock is taken" {
  start_quorum 3
  dlock_run a a -- sh -c 'while ! [ -e "$0/go" ]; do sleep 0.05; done' "$T"
  eventually 10s held_at a 0 1 2
  freeze 0
  run -75 timeout 5 "$DLOCK" run -w 1s a -- true
  run -75 timeout 5 "$DLOCK" wait -w 1s a
  dlock_run b a -- true
  eventually 10s in_line 1 1
  touch "$T/go"
  ends 4s b "exit 0"
  thaw 0
  ends 10s a "exit 0"
}

@test "who holds the lock is not known for free where a server is silent that may have a part" {
  start_quorum 3
  dlock_run a --ttl 1m a -- sleep 60
  eventually 10s held_at a 0 1 2
  freeze 0
  on 2 flushall >/dev/null
  run -75 "$DLOCK" wait -w 1s a
  run -0 "$DLOCK" --connect-timeout 1s inspect a
  assert_line --partial 'a: held by'
  on 1 flushall >/dev/null
  run -0 "$DLOCK" wait -w 10s a # no two are left that could have one
  thaw 0
}

# The run holds the lock at all servers before it renews it, though one of them was late.
is_complete_before_a_renewal() {
  local renewed
  on 2 script flush >/dev/null # so it has to be asked twice
  freeze 2
  dlock_run a --ttl 4s a -- sleep 60
  eventually 10s held_at a 0 1 || return
  renewed=$(on 0 pexpiretime dlock:a)
  thaw 2
  eventually 10s held_at a 2 || return
  [ "$(on 0 pexpiretime dlock:a)" = "$renewed" ] || renewed=0
  kill -TERM "$a_pid"
  ends 10s a "signal 15" || return
  eventually 10s no_lock_at a 0 1 2 || return
  [ "$renewed" -gt 0 ]
}
@test "a server that was late when the lock was granted gets its part soon, not by the next renewal" {
  start_quorum 3
  know_scripts
  eventually 2s is_complete_before_a_renewal # 20 tries
}

in_line() { [ "$(on "$1" zcard 'dlock:waiters:{dlock:a}')" = "$2" ]; }

@test "refused: one line for each server" {
  start_quorum 3
  dlock_run a a -- sleep 60
  eventually 10s held_at a 0 1 2
  kill_member 1
  run -75 --separate-stderr "$DLOCK" run -n a -- touch "$MARKER"
  assert_not_started
  assert_stderr_has "redis+unix://$T/0.sock?db=0: held by"
  [ "${#stderr_lines[@]}" = 4 ]
  run -0 "$DLOCK" inspect a
  assert_line "  cannot reach redis+unix://$T/1.sock?db=0: connection refused"
  assert_equal "$("$DLOCK" list --mine --names) $("$DLOCK" inspect -q --waited a || echo $?)" "a 1"
  kill -TERM "$a_pid" && ends 10s a "signal 15"
}

@test "acquire, renew and release over steps; force-release needs a majority" {
  start_quorum 3
  know_scripts
  eval "$("$DLOCK" acquire a)"
  eventually 10s held_at a 0 1 2
  run -0 "$DLOCK" renew a
  run -0 "$DLOCK" release a
  eventually 10s no_lock_at a 0 1 2
  unset DLOCK_HOLDS DLOCK_OWNER
  dlock_run a --ttl 3s a -- sleep 60
  eventually 10s held_at a 0 1 2
  kill_member 2
  run -0 "$DLOCK" force-release --yes a
  ends 10s a "exit 79"
}

@test "--min-hold and --once-per are kept by a majority" {
  start_quorum 3
  know_scripts
  # Once all have granted the lock, all are told of its end.
  run -0 "$DLOCK" run --min-hold 60s --once-per 60s a -- sh -c 'for i in 0 1 2; do
    until [ "$(redis-cli -s "$0/$i.sock" exists dlock:a)" = 1 ]; do sleep 0.02; done; done' "$T"
  eventually 10s kept_at 1 2
  kill_member 0
  run -0 --separate-stderr "$DLOCK" run --once-per 60s a -- touch "$MARKER"
  assert_not_started
  run -75 --separate-stderr "$DLOCK" run -n a -- touch "$MARKER"
  assert_not_started
  run -0 "$DLOCK" list
  assert_output --partial 'a: kept by'
  run -69 --separate-stderr "$DLOCK" --connect-timeout 1s forget a
  assert_stderr_has 'every server has to forget it, and 1 of 3 servers did not answer'
  start_member 0
  run -1 "$DLOCK" forget a # the others have done it
}

kept_at() {
  local n
  for n; do [ "$(on "$n" exists 'dlock:done:{dlock:a}')" = 1 ] || return 1; done
}

@test "a minority's password does not matter; a majority's is the reason" {
  start_quorum 3
  on 0 config set requirepass x >/dev/null
  run -0 "$DLOCK" inspect a
  kill_member 2
  run -69 "$DLOCK" --connect-timeout 1s inspect a
  on 1 config set requirepass x >/dev/null
  run -77 "$DLOCK" --connect-timeout 1s inspect a
}

@test "doctor looks at each server, and at all together" {
  start_quorum 3
  run -0 "$DLOCK" doctor -v
  assert_line --partial 'majority'
  assert_output --partial '3 of 3 servers answer'
  assert_output --partial 'each URL leads to a server of its own'
  # The same in whatever order the servers are named.
  assert_line "$(DLOCK_URL=$(xargs -n 1 <<<"$DLOCK_URL" | tac | xargs) "$DLOCK" doctor | grep '^identity: [0-9a-f]*: must')"
  refute_line "$("$DLOCK" --quorum-delay 5s doctor | grep '^identity: [0-9a-f]*: must')"
  DLOCK_URL="redis+unix://$T/0.sock redis://127.0.0.1:${SET_PORTS[0]} redis+unix://$T/1.sock" run -1 "$DLOCK" doctor
  assert_output --partial " are one server: it has one vote"
  kill_member 0
  run -0 "$DLOCK" doctor
  assert_output --partial 'it has no vote, and no part of any hold'
  refute_output --partial 'no run can start'
  kill_member 1
  run -1 "$DLOCK" doctor
  assert_output --partial 'no lock can be taken without a majority'
}

@test "Q04: 37: the clock of a server jumps by more than the lease: no run is disturbed, its vote is regained" {
  start_quorum 3
  dlock_run a --ttl 3s a -- "$TICKER" "$T/ticks-a" until "$T/go"
  eventually 10s held_at a 0 1 2
  dlock_run b --ttl 3s a -- "$TICKER" "$T/ticks-b" for 20
  eventually 10s in_line 0 1
  clock server1 real 3600
  eventually 10s has_voted_since_the_jump
  held_at a 0 1 2
  touch "$T/go"
  ends 20s a "exit 0"
  ends 20s b "exit 0"
  [ "$(last_tick "$T/ticks-a")" -lt "$(first_tick "$T/ticks-b")" ]
}

# Server 1 has the hold that server 0 has, until an hour later.
has_voted_since_the_jump() {
  [ "$(on 1 hkeys dlock:a)" = "$(on 0 hkeys dlock:a)" ] &&
    [ "$(on 1 pexpiretime dlock:a)" -gt $(($(on 0 pexpiretime dlock:a) + 3500000)) ]
}

# tokens_over_majorities COUNT: with clocks that differ by two seconds; another server is away each
# time.
tokens_over_majorities() {
  local i away token before=0
  start_quorum 3
  clock server0 real -1
  clock server2 real 1
  for ((i = 0; i < $1; i++)); do
    away=$T/$((RANDOM % 3)).sock
    mv "$away" "$away.away"
    token=$("$DLOCK" run a -- printenv DLOCK_TOKEN)
    mv "$away.away" "$away"
    [ "$token" -gt "$before" ] || fail "token $token after $before, at grant $i"
    before=$token
  done
}
@test "Q05: tokens grow over changing majorities, though the clocks of the servers differ" {
  tokens_over_majorities 100
}
asked_twice() {
  local i
  for i in 0 1 2; do on "$i" config resetstat >/dev/null; done
  "$DLOCK" run a -- true
  for i in 0 1 2; do on "$i" info commandstats | grep -q '^cmdstat_evalsha:calls=2,' || return; done
}
@test "a run whose servers know the time asks each twice: to acquire and to release" {
  start_quorum 3
  know_scripts
  eventually 20s asked_twice
}

# bats test_tags=nightly
@test "Q05: 33: of 1000 grants over changing majorities each has a larger token" {
  tokens_over_majorities 1000
}

# bats test_tags=nightly
@test "34: 200 runs that come at once are all served, each alone, though the leader is killed; 40 messages a grant" {
  local pid pids=() served
  start_quorum 5
  for ((i = 0; i < 200; i++)); do
    "$DLOCK" -q run -w 90s a -- sh -c 'echo in >>"$0"; sleep 0.02; echo out >>"$0"' "$T/log" \
      2>>"$T/err" 3>&- &
    pids+=($!)
  done
  eventually 60s is_served 50
  kill_member 0
  served=$(grep -c out "$T/log")
  eventually 30s is_served $((served + 20)) # all wait at the next server
  local before
  before=$(scripts_run) served=$(grep -c out "$T/log")
  for pid in "${pids[@]}"; do wait "$pid" || fail "$(head -5 "$T/err")"; done
  assert_equal "$(uniq -c "$T/log" | awk '$1 != 1' | wc -l)" 0
  is_served 200
  # A script is two messages, its call and its answer.
  local each=$((2 * ($(scripts_run) - before) / (200 - served)))
  echo "$each messages a grant, of $((200 - served))"
  [ "$each" -le 40 ]
}
is_served() { [ "$(grep -c out "$T/log")" -ge "$1" ]; }
# scripts_run: at the servers that live.
scripts_run() {
  local i
  for i in 1 2 3 4; do on "$i" info commandstats; done |
    sed -nE 's/^cmdstat_eval(sha)?:calls=([0-9]+).*/\2/p' | awk '{sum += $1} END {print sum}'
}
