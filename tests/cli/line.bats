#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: who came first enters first, however many wait; who is dead or frozen costs a second at
# most, once; a hand-off costs the same few commands for ten and for a thousand waiters; and who
# leaves is out of the line.
# LINE_BIG=1: those about the number of commands also with the largest numbers of waiters.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031  # *_pid come from spawn; a test is a shell
load ../support/suite
suite server line

@test "200 enter in the order in which they came; the dead cost nothing, the frozen a second each" {
  local count=200 number expected=() frozen=() dead=0 began took
  hold q
  stand_all q 1 "$count"
  for ((number = 1; number <= count; number++)); do
    case $((number % 10)) in
      3) kill -KILL "${WAITERS[number]}" && dead=$((dead + 1)) ;;
      7) kill -STOP "${WAITERS[number]}" && frozen+=("$number") ;;
      *) expected+=("$number") ;;
    esac
  done
  began=$(now)
  let_go
  eventually 120s entered "${#expected[@]}" || fail "only $(entries) entered: $(order)"
  took=$(awk -v a="$began" -v b="$(now)" 'BEGIN { printf "%.2f", b - a }')
  assert_order "${expected[@]}"
  report_hand_offs "$began" "$took" >&3
  awk -v t="$took" -v most="$((${#frozen[@]} * 3 / 2 + count / 4 + 5))" 'BEGIN { exit !(t < most) }' ||
    fail "$took s"
  # Who was frozen is not forgotten.
  for number in "${frozen[@]}"; do kill -CONT "${WAITERS[number]}"; done
  eventually 30s entered $((count - dead))
  eventually 10s stands q 0
}
report_hand_offs() { # BEGAN TOOK
  awk -v last="$1" -v took="$2" '{ gap[NR] = $2 - last; last = $2 }
    END { for (i in gap) { if (gap[i] > 0.5) { slow++; s += gap[i] } else { n++; f += gap[i] }
                           if (gap[i] > most) most = gap[i] }
          printf "# %d entered in %s s: %d hand-offs of %.0f ms, %d past a frozen one of %.2f s, the longest %.2f s\n",
            NR, took, n, n ? 1000 * f / n : 0, slow, slow ? s / slow : 0, most }' "$T/entered"
}

# hand_offs COUNT: that many waiters, one after the other; how many commands that took.
hand_offs() {
  local name=many-$1 waited sent began
  : >"$T/entered"
  hold "$name"
  stand_all "$name" 1 "$1"
  r config resetstat >/dev/null
  began=$(now)
  let_go
  eventually 120s entered "$1" || fail "only $(entries) entered"
  eventually 10s is_free "$name"
  sent=$(commands_since_reset)
  # Those who still wait tell now and then that they live: that is not the price of a hand-off.
  waited=$(awk -v began="$began" '{ s += $2 - began } END { printf "%d", s + 1 }' "$T/entered")
  awk -v n="$1" -v sent="$sent" -v waited="$waited" 'BEGIN {
    printf "# %d waiters: %.2f commands per hand-off, %d seconds of waiting\n", n, sent / n, waited }' >&3
  [ $((sent * 2 - waited)) -le $((12 * $1)) ] || fail "$1 waiters: $sent commands, $waited s waited"
}

@test "a hand-off costs at most six commands, for ten waiters and for a hundred" {
  local count
  for count in 10 100 ${LINE_BIG:+500 1000}; do
    hand_offs "$count"
    new_line
  done
}

@test "a waiter sends at most one command every two seconds" {
  local count=20 sent
  [ -z "${LINE_BIG:-}" ] || count=100
  hold idle
  stand_all idle 1 "$count"
  sleep 1 # the last ones come to rest
  r config resetstat >/dev/null
  sleep 6
  sent=$(commands_since_reset)
  echo "# $count waiters: $sent commands in 6 s" >&3
  [ "$sent" -le $((count * 3 + 10)) ] || fail "$sent commands"
  [ "$sent" -ge "$count" ] || fail "only $sent: do they live?"
  assert stands idle "$count"
}

@test "a wait shows the queue position and the holder; on a terminal in one row" {
  hold placed --reason 'nightly import'
  stand placed 1
  stand placed 2
  stand placed 3
  eventually 10s grep -qE "waiting [0-9]+s for \"placed\", 3rd of 3, held by .* pid $HOLDER .*nightly import" \
    "$T/waiter-3.err"
  grep -q '1st of 3' "$T/waiter-1.err" || eventually 10s grep -q '1st of 3' "$T/waiter-1.err"
  TERM=xterm run -130 timeout 60 python3 -S "$PROGRAMS/pty_run.py" 'expect:4th of 4' 'expect:4th of 4' 'send:\x03' end -- \
    "$DLOCK" run placed -- touch "$MARKER" 3>&-
  refute_output --partial $'\n' # all of it in one line
  assert_not_started
}

@test "inspect says of each waiter what it wants, and its command" {
  hold wanted
  stand wanted 1 -s
  stand wanted 2 -x
  stand wanted 3 --slots 4
  run -0 "$DLOCK" inspect wanted
  assert_output --regexp "1st in line [^,]* pid ${WAITERS[1]} for [^,]*, to read, command \"sh\""
  assert_output --regexp "2nd in line [^,]* pid ${WAITERS[2]} for [^,]*, to write, command \"sh\""
  assert_output --regexp "3rd in line [^,]* pid ${WAITERS[3]} for [^,]*, for one of 4 slots, command \"sh\""
  run -0 bash -c '"$DLOCK" inspect --json wanted | python3 -c "
import json, sys
print([(waiter[\"mode\"], waiter[\"slots\"]) for waiter in json.load(sys.stdin)[\"locks\"][0][\"line\"]])"'
  assert_output "[('shared', None), ('exclusive', None), ('slots', 4)]"
  let_go
}

@test "inspect shows the waiters with their reasons, in order" {
  hold seen
  stand seen 1 --reason one
  stand seen 2 --reason two
  run -0 "$DLOCK" inspect seen
  assert_output --regexp "1st in line .* pid ${WAITERS[1]} .*one.*2nd in line .* pid ${WAITERS[2]} .*two"
  run -0 bash -c '"$DLOCK" inspect --json seen | python3 -c "
import json, sys
lock = json.load(sys.stdin)[\"locks\"][0]
print(lock[\"waiting\"], *(waiter[\"pid\"] for waiter in lock[\"line\"]))"'
  assert_output "2 ${WAITERS[1]} ${WAITERS[2]}"
}

@test "events tell the place" {
  hold told
  stand told 1
  # What it says comes after a second, and its place in the line with it.
  dlock_run b -v --log-format json -w 4s told -- true
  ends 20s b "exit 75"
  [ "$(python3 -S "$PROGRAMS/events.py" "$T/b.err" get waiting place)" = 2 ]
  [ "$(python3 -S "$PROGRAMS/events.py" "$T/b.err" get waiting waiting)" = 2 ]
}

@test "a waiter that gives up, by -w or by a signal, is out of the line at once" {
  local signal
  hold left
  stand left 1
  for signal in INT TERM HUP; do
    dlock_run b left -- true
    eventually 5s stands left 2
    kill -"$signal" "$b_pid"
    eventually 5s ended b
    assert stands left 1
  done
  run -75 "$DLOCK" run -w 300ms left -- touch "$MARKER"
  assert stands left 1
  assert_not_started
}

@test "a waiter that gives up at two signals, as timeout(1) sends them, is out of the line at once" {
  hold twice
  dlock_run b twice -- touch "$MARKER"
  eventually 5s stands twice 1
  kill -STOP "$b_pid" # both are there when it looks
  kill -TERM "$b_pid"
  kill -INT "$b_pid"
  kill -CONT "$b_pid"
  eventually 5s ended b
  assert stands twice 0
  assert_not_started
}

@test "a first waiter that gives up in its turn passes the turn on" {
  hold turn
  stand turn 1
  stand turn 2
  kill -STOP "${WAITERS[1]}"
  let_go
  kill -TERM "${WAITERS[1]}"
  kill -CONT "${WAITERS[1]}"
  # Whatever it sees first, the signal or its turn: the second enters.
  eventually 10s grep -q '^2 ' "$T/entered"
  eventually 5s is_free turn
  eventually 5s stands turn 0
}

@test "a waiter that is killed is passed over at once" {
  local began
  hold killed
  stand_all killed 1 5
  kill -KILL "${WAITERS[1]}" "${WAITERS[2]}" "${WAITERS[3]}"
  eventually 5s subscribers killed 2 # the server knows of it
  began=${EPOCHREALTIME/./}
  let_go
  eventually 10s entered 2
  assert_order 4 5
  [ $((${EPOCHREALTIME/./} - began)) -lt 3000000 ] || fail "after $((${EPOCHREALTIME/./} - began)) us"
}

@test "while a waiter is in line, a new claim is refused, though the lock is free" {
  local number
  hold polite
  # Each has a second for its turn; four of them give the newcomer more than one to come.
  stand_all polite 1 4
  for number in 1 2 3 4; do kill -STOP "${WAITERS[number]}"; done
  let_go
  run -75 --separate-stderr "$DLOCK" run -n polite -- touch "$MARKER"
  assert_stderr_has 'free, reserved for the first waiter'
  assert_not_started
  # Their turns are over after these seconds.
  run -0 timeout 40 "$DLOCK" run -w 30 polite -- true
  [ "$(entries)" = 0 ]
  for number in 1 2 3 4; do kill -CONT "${WAITERS[number]}"; done
  eventually 10s entered 4
}

@test "a nested run passes the line" {
  "$DLOCK" run outer -- bash -c 'echo "$$" >"$0/outer"; until [ -e "$0/go" ]; do sleep 0.02; done
    "$DLOCK" run -n outer -- touch "$0/nested"' "$T" 3>&- &
  HOLDER=$!
  eventually 10s file_has "$T/outer"
  stand outer 1
  let_go
  eventually 10s entered 1
  [ -e "$T/nested" ]
}

@test "--max-waiters: busy at once where so many wait already, however it is given" {
  local config=$T/config.toml
  hold full
  run -75 --separate-stderr "$DLOCK" run --max-waiters 0 full -- touch "$MARKER"
  assert_one_line
  stand full 1 --max-waiters 1
  run -75 --separate-stderr "$DLOCK" run --max-waiters 1 full -- touch "$MARKER"
  assert_stderr_has '1 waiting'
  run -9 "$DLOCK" run -E 9 --max-waiters 1 full -- touch "$MARKER"
  run -75 env DLOCK_MAX_WAITERS=1 "$DLOCK" run full -- touch "$MARKER"
  echo 'max-waiters = 1' >"$config"
  run -75 "$DLOCK" run --config "$config" full -- touch "$MARKER"
  stand full 2 --config "$config" --max-waiters 2
  assert stands full 2
  let_go
  eventually 10s entered 2
  assert_order 1 2
  run -0 "$DLOCK" run --max-waiters 0 full -- true
  assert_not_started
}

@test "--max-waiters makes no sense with words, and where there is no line only as 0" {
  local bad
  for bad in -1 x 1.5 ''; do
    run -64 "$DLOCK" run --max-waiters="$bad" full -- touch "$MARKER"
  done
  run -64 "$DLOCK" --url "local://$T/locks" run --max-waiters 1 full -- touch "$MARKER"
  run -0 "$DLOCK" --url "local://$T/locks" run --max-waiters 0 full -- true
  assert_not_started
}

# bats test_tags=nightly
@test "fifty locks that are waited for do not disturb each other" {
  local number
  for number in {1..50}; do
    hold "own-$number"
    OTHER_PIDS+=" $HOLDER"
    stand "own-$number" "$number"
  done
  touch "$T/go" # what each of them waits for
  eventually 30s entered 50
  [ "$(awk '{print $1}' "$T/entered" | sort -n | xargs)" = "$(seq 50 | xargs)" ]
}
