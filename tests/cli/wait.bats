#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: wait returns when a lock is free and nobody who lives stands in its line, takes nothing,
# stands in no line, and asks about once a second.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server line

@test "a free lock is not waited for, and no key is made" {
  local before
  before=$(r dbsize)
  run -0 --separate-stderr timeout 20 "$DLOCK" wait "$(fresh)"
  assert_output ""
  assert_no_stderr
  run -0 "$DLOCK" wait -n "$(fresh)"
  [ "$(r dbsize)" = "$before" ]
}

@test "a store that does not answer is reported once, after a second, and the wait ends with 69" {
  local port
  port=$(free_port)
  run -69 --separate-stderr timeout 20 "$DLOCK" --connect-timeout 3s --url "redis://127.0.0.1:$port" wait x
  [[ $stderr =~ ^"dlock: cannot reach redis://127.0.0.1:$port/0: connection refused; retrying for "[0-9]+s$'\n'"dlock: cannot wait for"[^$'\n']*$ ]] ||
    fail "$stderr"
}

@test "a held lock is waited for, and not taken" {
  hold "$(fresh)"
  spawn a "$DLOCK" wait "$(fresh)"
  sleep 1.5
  alive "$a_pid"
  stands "$(fresh)" 0
  eventually 10s grep -q "waiting [0-9]*s for \"$(fresh)\", held by" "$T/a.err"
  let_go
  ends 5s a "exit 0"
  grep -q "dlock: \"$(fresh)\" is free after [0-9.]*s" "$T/a.err"
  assert_no_keys
}

@test "dlock wait gives up at -n and -w: 75, or the status of -E" {
  hold "$(fresh)"
  run -75 --separate-stderr timeout 20 "$DLOCK" wait -n "$(fresh)"
  assert_one_line
  assert_stderr_has "\"$(fresh)\" is busy: held by"
  assert_stderr_has "pid $HOLDER"
  local before=${EPOCHREALTIME/./}
  run -9 timeout 10 "$DLOCK" wait -w 600ms -E 9 "$(fresh)"
  [ $((${EPOCHREALTIME/./} - before)) -ge 600000 ]
  run -75 timeout 10 "$DLOCK" wait -w 0 "$(fresh)"
  let_go
}

@test "waiters in line go before dlock wait" {
  hold "$(fresh)"
  stand "$(fresh)" 1
  spawn a "$DLOCK" wait "$(fresh)"
  # It enters, and holds the lock for as long as this one does not let it go.
  "$DLOCK" run "$(fresh)" -- sh -c 'touch "$0/in"; until [ -e "$0/out" ]; do sleep 0.02; done' "$T" 3>&- &
  WAITERS+=($!)
  eventually 10s stands "$(fresh)" 2
  let_go
  eventually 10s test -e "$T/in"
  sleep 1.2
  alive "$a_pid"
  touch "$T/out"
  ends 5s a "exit 0"
  assert_order 1
}

@test "a free lock is reserved while a living waiter is in its line" {
  local who='{"id":"w:1#s","polls":true,"host":"h","pid":1}' tag
  tag="{dlock:$(fresh)}"
  r zadd "dlock:line:$tag" 1 "$who" >/dev/null
  r zadd "dlock:waiters:$tag" $(($(date +%s%3N) + 60000)) "$who" >/dev/null
  run -75 "$DLOCK" wait -w 300ms "$(fresh)"
  spawn a "$DLOCK" wait "$(fresh)"
  r del "dlock:line:$tag" "dlock:waiters:$tag" >/dev/null
  ends 20s a "exit 0"
}

@test "a line of dead waiters delays a wait only briefly" {
  hold "$(fresh)"
  stand "$(fresh)" 1
  spawn a "$DLOCK" wait "$(fresh)"
  kill -KILL "${WAITERS[1]}"
  let_go
  ends 30s a "exit 0"
}

@test "a foreign lock is held, and so is one of a Java service; both are seen to end" {
  r set "dlock:$(fresh)" x >/dev/null
  r hset dlock:java "6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57" 1 >/dev/null
  run -75 --separate-stderr "$DLOCK" wait -n "$(fresh)"
  assert_stderr_has foreign
  spawn a "$DLOCK" wait "$(fresh)"
  run -75 "$DLOCK" wait -n java
  r pexpire dlock:java 1500 >/dev/null
  run -0 timeout 20 "$DLOCK" wait java
  alive "$a_pid"
  r del "dlock:$(fresh)" >/dev/null
  ends 5s a "exit 0"
}

@test "a lock that is held shared or in a slot is not free" {
  for mode in -s --slots=3; do
    hold "$(fresh)" "$mode"
    run -75 "$DLOCK" wait -n "$(fresh)"
    spawn a "$DLOCK" wait "$(fresh)"
    let_go
    ends 5s a "exit 0"
  done
}

@test "a waiter asks about once a second" {
  hold "$(fresh)" --ttl 300s
  spawn a "$DLOCK" wait "$(fresh)"
  eventually 5s file_has "$T/a.err" waiting
  r config resetstat >/dev/null
  local before=$SECONDS
  sleep 4
  local most=$((SECONDS - before + 3)) got
  got=$(commands_since_reset)
  [ "$got" -le "$most" ] || fail "$got commands, not $most"
  [ "$got" -ge 1 ]
  let_go
  ends 5s a "exit 0"
}

@test "a wait is ended by a signal, and by a store that stays away: 69" {
  hold "$(fresh)"
  spawn a "$DLOCK" wait "$(fresh)"
  eventually 5s file_has "$T/a.err" waiting
  kill -TERM "$a_pid"
  ends 5s a "signal 15"
  let_go
  start_proxy
  proxy blackhole
  run -69 --separate-stderr timeout 10 "$DLOCK" --url "$PROXY_URL" --connect-timeout 300ms wait "$(fresh)"
  assert_one_line
}

@test "a short outage of the store is ridden out" {
  start_proxy
  hold "$(fresh)"
  spawn a "$DLOCK" --url "$PROXY_URL" --connect-timeout 1s wait "$(fresh)"
  eventually 5s file_has "$T/a.err" waiting
  proxy blackhole
  sleep 2
  proxy pass
  alive "$a_pid"
  let_go
  ends 10s a "exit 0"
}

@test "-w is the longest also where the store does not answer any more" {
  start_proxy
  hold "$(fresh)"
  spawn a "$DLOCK" --url "$PROXY_URL" --connect-timeout 1s wait -w 6s "$(fresh)"
  eventually 5s file_has "$T/a.err" waiting
  proxy blackhole
  # As long as a store is given otherwise: the lease, which is 30 s.
  ends 20s a "exit 69"
  let_go
}

@test "-n looks once, and waits for the answer for as long as the store may take" {
  start_proxy
  proxy delay 600
  run -0 timeout 60 "$DLOCK" --url "$PROXY_URL" --connect-timeout 20s wait -n "$(fresh)"
}

@test "local locks are waited for as well" {
  export DLOCK_URL=local://$T/locks
  hold "$(fresh)"
  run -75 "$DLOCK" wait -n "$(fresh)"
  spawn a "$DLOCK" wait "$(fresh)"
  let_go
  ends 5s a "exit 0"
}
