#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: each kind of line of --log-format json is as packaging/schemas/log.schema.json says, and so is
# what the other schemas say of Redis and of a quorum. docs/schemas has the stores without a server.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031  # *_pid are set by spawn; '…' is for inner shells; FOLDER

load ../support/suite
suite server ticker clock_shim cli supervise leases clocks faults replicas sentinels quorum contain

told() { # NAME ARG…: `dlock run` that writes all its events to $T/NAME.err
  local name=$1
  shift
  dlock_run "$name" -v --log-format json "$@"
}
said() { grep -qs "\"event\":\"$2\"" "$T/$1.err"; }
# shows NAME EVENT…: every line of the log is as its schema says, and these are among them. The end of the
# test looks at all its logs, as that takes one process of Python.
SHOWN=()
shows() {
  SHOWN+=("${*:2}")
  cp "$T/$1.err" "$T/${#SHOWN[@]}.shown"
}
all_shown() {
  local i event files=() seen=()
  for ((i = 1; i <= ${#SHOWN[@]}; ++i)); do files+=("$T/$i.shown"); done
  [ ${#files[@]} != 0 ] || return 0
  schema log "${files[@]}" >"$T/seen" || return 1
  mapfile -t seen <"$T/seen"
  for i in "${!SHOWN[@]}"; do
    for event in ${SHOWN[i]}; do
      [[ " ${seen[i]} " == *" $event "* ]] || { echo "no $event in: ${seen[i]}"; return 1; }
    done
  done
}
is_stopped() { [[ $(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat") == T ]]; }
schema() { python3 "$PROGRAMS/schema.py" "$@"; }
until_go='touch "$0/child"; until [ -e "$0/go" ]; do sleep 0.02; done'

@test "each event of the schema is brought about by a test here" {
  local untold shown
  # A command that wants a terminal it cannot have: sys/runner_test.cpp has it.
  untold="left_stopped"
  shown=$(sed -nE 's/^ +shows [a-z]+ ([a-z_ \"]+)$/\1/p' "$BATS_TEST_FILENAME" | xargs -n 1 | sort -u)
  assert_equal "$(printf '%s\n' "$shown" $untold | sort)" "$(json \
    '"\n".join(sorted(d["properties"]["event"]["enum"]))' <"$PROJECT/packaging/schemas/log.schema.json")"
}

@test "a run from its grant to its release, of one name, of several, of a slot" {
  told a --ttl 2s -k 100ms a -- sleep 1.5
  ends 10s a "exit 0"
  shows a message granted started renewed reaped released
  told b --slots 3 --and b a -- no-such-command
  ends 10s b "exit 127"
  shows b granted started reaped released message
  told s --splay 100ms s -- true
  ends 10s s "exit 0"
  shows s splay granted
  told c --once-per 1h once -- true
  ends 10s c "exit 0"
  told c --once-per 1h once -- true
  ends 10s c "exit 0"
  shows c "done"
  local port
  port=$(free_port)
  DLOCK_URL=redis://127.0.0.1:$port told d --connect-timeout 50ms --on-unavailable skip away -- true
  ends 10s d "exit 75"
  shows d unavailable
  DLOCK_URL=redis://127.0.0.1:$port told e --connect-timeout 50ms --on-unavailable run away -- true
  ends 10s e "exit 0"
  shows e unlocked
}

@test "a run that waits, is refused, and another command that waits" {
  told a a -- sh -c "$until_go" "$T"
  eventually 10s test -e "$T/child"
  told b -n a -- true
  ends 10s b "exit 75"
  shows b busy
  told e --supersede waiting a -- true
  eventually 10s said e waiting
  told f --supersede waiting a -- true
  ends 20s e "exit 75"
  shows e superseded
  told b -w 20s a -- true
  spawn c "$DLOCK" -v --log-format json wait a
  eventually 10s said b waiting
  eventually 10s said c waiting
  touch "$T/go"
  ends 10s b "exit 0"
  ends 10s c "exit 0"
  ends 10s f "exit 0"
  shows b waiting granted
  shows c waiting free
  "$DLOCK" run a -- env -u DLOCK_HOLDS "$DLOCK" --log-format json run -w 3s a -- true 2>"$T/d.err" || true
  shows d holder_above waiting busy
}

@test "a store that is silent for a waiter, and for a holder" {
  start_other frozen
  o hset dlock:taken other:1 1
  DLOCK_URL=$OTHER_URL told a taken -- true
  DLOCK_URL=$OTHER_URL told b --ttl 4s -k 200ms held -- "$TICKER" "$TICKS" ignore 15
  eventually 10s said a waiting
  eventually 10s ticking
  kill -STOP "$OTHER_PID"
  eventually 20s said a store_away
  kill -TERM "$a_pid"
  ends 10s a "signal 15"
  ends 20s b "exit 79"
  kill -CONT "$OTHER_PID"
  shows a waiting store_away
  shows b unknown lapsing term kill reaped
}

@test "a server that tells no changes: a waiter polls, a holder notices late" {
  start_other deaf --rename-command SUBSCRIBE "" --rename-command CLIENT ""
  o hset dlock:taken other:1 1
  DLOCK_URL=$OTHER_URL told a taken -- true
  eventually 10s said a polling
  kill -TERM "$a_pid"
  ends 10s a "signal 15"
  shows a polling
  DLOCK_URL=$OTHER_URL told b free -- sh -c "$until_go" "$T"
  eventually 10s said b untracked
  touch "$T/go"
  ends 10s b "exit 0"
  shows b untracked
}

@test "a lock that is lost, revoked, deleted before its release; a time that is up" {
  told a --ttl 3s -k 200ms a -- "$TICKER" "$TICKS"
  told b --ttl 3s -k 200ms b -- "$TICKER" "$TICKS-b"
  told c c -- sh -c "$until_go" "$T"
  told d --ttl 3s -k 200ms --max-hold 300ms d -- sleep 60
  eventually 10s ticking
  eventually 10s ticking "$TICKS-b"
  eventually 10s test -e "$T/child"
  r del dlock:a dlock:c 'dlock:holds:{dlock:c}'
  "$DLOCK" --log-format json force-release --yes b 2>"$T/by.err" 3>&-
  touch "$T/go"
  ends 10s a "exit 79"
  ends 10s b "exit 79"
  ends 10s c "exit 0"
  ends 10s d "exit 124"
  shows a lost term reaped
  shows b revoked term released
  shows c lost_at_release
  shows d time_up term
  shows by message
}

@test "the lock of a dead holder is freed" {
  local guard
  told a --ttl 6s dead -- sleep 60
  eventually 10s said a renewed
  guard=$(guard_of "$a_pid")
  kill -STOP "$a_pid"
  kill -KILL "$guard" "$a_pid"
  ends 5s a "signal 9"
  told b -w 20s dead -- true
  ends 20s b "exit 0"
  shows b reclaimed granted
}

@test "a release without an answer" {
  start_proxy
  DLOCK_URL=$PROXY_URL told a --connect-timeout 1s never -- sh -c "$until_go" "$T"
  eventually 10s test -e "$T/child"
  proxy blackhole
  touch "$T/go"
  ends 15s a "exit 0"
  shows a release_unknown
}

@test "signals, processes that stay behind, and a guard that is killed" {
  local guard
  told a signals -- "$TICKER" "$TICKS" catch 10
  eventually 10s ticking
  guard=$(guard_of "$a_pid")
  kill -KILL "$guard"
  eventually 10s said a guard_replaced
  kill -USR1 "$a_pid"
  eventually 10s said a signal
  kill -TSTP "$a_pid"
  eventually 10s is_stopped "$a_pid"
  kill -CONT "$a_pid"
  eventually 10s said a stopped # a thread writes the lines, and it may have been stopped before
  kill -TERM "$a_pid"
  eventually 10s ended a
  shows a guard_replaced signal stopped
  told b left -- sh -c 'trap "" TERM; sleep 30 & exit 3'
  ends 10s b "exit 3"
  shows b leftovers term kill
  told c strays -- sh -c "$(daemon for 1000)"
  ends 10s c "exit 0"
  shows c strays
  rm "$TICKS"
  told d --contain contained -- sh -c "$(daemon for 1000)"
  ends 15s d "exit 0"
  shows d outlived
}

@test "a command beyond dlock's signals (needs root)" {
  [ "$(id -u)" = 0 ] || skip "needs root, to become other users"
  FOLDER=$(mktemp -d)
  chmod 755 "$FOLDER"
  install -d -o 54321 "$FOLDER/locks"
  install -m 755 "$DLOCK" "$FOLDER/dlock"
  install -m 4755 "$TICKER" "$FOLDER/ticker"
  spawn a setpriv --reuid 54321 --regid 54321 --clear-groups env "DLOCK_URL=local://$FOLDER/locks" \
    "$FOLDER/dlock" -v --log-format json run --ttl 4s -k 200ms others -- "$FOLDER/ticker" "$FOLDER/ticks" become for 5000
  eventually 10s ticking "$FOLDER/ticks" || { cat "$T/a.err"; return 1; }
  kill -TERM "$a_pid"
  eventually 10s said a cannot_kill
  eventually 15s ended a
  shows a cannot_kill
}

@test "a quorum: what each server says, to inspect and to doctor too" {
  start_quorum 3
  "$DLOCK" run other -- true
  told a a -- sh -c "$until_go" "$T"
  eventually 10s test -e "$T/child"
  told b -n a -- true
  ends 10s b "exit 75"
  shows b busy vote
  on 2 shutdown nosave || true
  run -0 "$DLOCK" inspect --json a
  schema inspect <<<"$output"
  assert_equal "$(json '[one["state"] for one in d["locks"][0]["servers"]]' <<<"$output")" '["held", "held", "unknown"]'
  touch "$T/go"
  ends 10s a "exit 0"
  run -0 "$DLOCK" inspect --json a
  schema inspect <<<"$output"
  run "$DLOCK" doctor --json
  schema doctor <<<"$output"
  assert_equal "$(json '"quorum_delay" in [one["id"] for one in d["findings"]]' <<<"$output")" true
}

@test "sentinels: a lease too short for a failover, and another master" {
  start_set 2
  start_sentinels
  told b --ttl 2s -k 100ms set -- true
  ends 10s b "exit 0"
  shows b failover
  told a --ttl 9s set -- sh -c "$until_go" "$T"
  eventually 10s test -e "$T/child"
  kill -KILL "${SET_PIDS[0]}"
  eventually 30s said a moved
  touch "$T/go"
  ends 10s a "exit 0"
  shows a moved
}

@test "locks of other programs, and what doctor says of a server" {
  r hset dlock:other other:1 1
  r set dlock:text 1
  run -0 "$DLOCK" inspect --json other text
  schema inspect <<<"$output"
  assert_equal "$(json '[one["state"] for one in d["locks"]]' <<<"$output")" '["held", "foreign"]'
  told a -n text -- true
  ends 10s a "exit 75"
  shows a busy
  run "$DLOCK" doctor --json
  schema doctor <<<"$output"
  assert_equal "$(json '[one["product"] for one in d["servers"]]' <<<"$output")" '["redis"]'
}

teardown() {
  local ok=yes
  all_shown || ok=""
  clean_up
  [ -z "${FOLDER:-}" ] || rm -rf "$FOLDER"
  [ -n "$ok" ]
}
