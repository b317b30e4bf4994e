# SPDX-License-Identifier: MIT
# A program beside dlock that takes locks of its own in the database: the client of the database,
# with a connection that stays open. A part of suite.bash.
# shellcheck shell=bash disable=SC2154,SC2016  # T is set by supervise.bash; the child expands what is quoted

client_of_postgres() { exec psql -XAtq -h "$DB" -p "$DB_PORT" -U postgres postgres; }
client_of_mysql() { exec mariadb --no-defaults -NB --unbuffered -S "$DB/socket" -u root locks; }

# start_peer: starts this client and sets PEER. `peer SQL` returns when the statement was executed.
start_peer() {
  PEER_LINES=0
  mkfifo "$T/peer.in"
  "client_of_$DB_ACCOUNT" <"$T/peer.in" >"$T/peer.out" 2>&1 3>&- &
  PEER=$!
  STARTED+=("$PEER")
  exec {PEER_FD}>"$T/peer.in"
}
peer() {
  PEER_LINES=$((PEER_LINES + 1))
  echo "$1; select 'done $PEER_LINES';" >&"$PEER_FD"
  eventually 10s file_has "$T/peer.out" "done $PEER_LINES" || fail "$(cat "$T/peer.out")"
}

# with FORM: from now on, the URL of dlock has with=FORM.
with() {
  PLAIN_URL=${PLAIN_URL:-$DLOCK_URL}
  export PLAIN_URL DLOCK_URL="$PLAIN_URL&with=$1"
}

# both_ways TAKE GIVE_UP IS_TAKEN KIND: checks that the peer and dlock exclude each other. The peer
# takes the lock of "a" by the statement TAKE and gives it up by GIVE_UP. The query IS_TAKEN answers
# t or 1 while dlock has the lock.
both_ways() {
  start_peer
  peer "$1"
  run -75 --separate-stderr "$DLOCK" run -n a -- touch "$MARKER"
  assert_stderr_has "\"a\" is busy: held by a foreign lock ($4"
  run -0 "$DLOCK" run -n another -- true
  run -75 "$DLOCK" run -w 1 a -- touch "$MARKER"
  dlock_run v a -- touch "$MARKER"
  eventually 10s file_has "$T/v.err" "waiting" || fail "$(cat "$T/v.err")"
  kill "$v_pid"
  ends 5s v "signal 15"
  run -0 "$DLOCK" list
  assert_output ""
  dlock_run w a -- touch "$T/ran"
  eventually 10s file_has "$T/w.err" "waiting" || fail "$(cat "$T/w.err")"
  grep -q "held by a foreign lock ($4" "$T/w.err" || fail "$(cat "$T/w.err")"
  [ ! -e "$T/ran" ]
  peer "$2"
  ends 10s w "exit 0"
  [ -e "$T/ran" ]
  assert_not_started

  hold a
  [[ $(db "$3") == [t1] ]] || fail "dlock does not have it"
  let_go
  [[ $(db "$3") == [f0] ]] || fail "dlock still has it"
  run -0 "$DLOCK" run -n a -- true
}

# loses KIND COMMAND…: COMMAND makes the server end the connection of the peer lock; checks that the
# command of dlock stops in time, and that the lock is free.
loses() {
  local killed kind=$1
  shift
  dlock_run a --ttl 1m a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  sleep 1.5
  killed=$(boot_ms)
  "$@"
  ends 10s a "exit 79"
  # It takes at most two seconds, and longer only on a busy machine.
  [ $(($(last_tick) - killed)) -lt 5000 ] || fail "after $(($(last_tick) - killed)) ms"
  grep -q "lost \"a\", whose $kind is gone: " "$T/a.err" || fail "$(cat "$T/a.err")"
  run -0 "$DLOCK" run -n a -- true
}

# outlives_silence: checks that a peer lock survives a server that is silent for some seconds.
outlives_silence() {
  dlock_run a --ttl 8s --kill-after 1s a -- sh -c 'until [ -e "$0/go" ]; do sleep 0.02; done; exit 7' "$T"
  sleep 1.2
  signal_database STOP
  sleep 2
  signal_database CONT
  sleep 1
  touch "$T/go"
  ends 10s a "exit 7"
}

# joins_above: checks that a nested run takes no second peer lock if the run above it has one, and
# takes its own if that run has none. TAKE and GIVE_UP as for both_ways.
joins_above() {
  run -0 "$DLOCK" run a -- "$DLOCK" run -n a -- true
  run -0 "$DLOCK" run --and b a -- "$DLOCK" run -n b -- true
  start_peer
  peer "$1"
  run -75 --separate-stderr "$DLOCK" --url "$PLAIN_URL" run a -- "$DLOCK" run -n a -- touch "$MARKER"
  assert_stderr_has "held by a foreign lock"
  run -0 "$DLOCK" --url "$PLAIN_URL" run -n a -- true
  peer "$2"
  assert_not_started
}

# needs_a_process: checks that dlock refuses what would have to keep the lock without a process
# (acquire, renew, release), and the modes that have no peer lock.
needs_a_process() {
  local words
  for words in "acquire a" "renew --owner x a" "release --owner x a" "run -s a -- true" "run --slots 2 a -- true"; do
    # shellcheck disable=SC2086  # words
    run -64 --separate-stderr "$DLOCK" $words
    assert_stderr_has "does not support"
  done
  run -0 "$DLOCK" list
  run -0 "$DLOCK" inspect a
}

# one_by_one: checks that several dlocks wait in their line.
one_by_one() {
  hold a
  stand_all a 1 3
  let_go
  eventually 20s entered 3
  assert_order 1 2 3
}
