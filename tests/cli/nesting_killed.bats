#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A nested run that is killed leaves its hold in the store. The run above it gives that back with its
# own, if nothing of it lives any more and it was here.
# shellcheck disable=SC2154  # *_pid are set by spawn

load ../support/suite
suite server ticker supervise

until_there() { printf 'until [ -e %q ]; do sleep 0.02; done' "$1"; }

# below NAME [COMMAND]: shell words that run COMMAND (the ticker) in a nested run of NAME, the pid of
# which they write to $T/inner. Leases are long: nothing here is free because one has ended.
below() {
  printf '%q run --ttl 60s %q -- sh -c %q' \
    "$DLOCK" "$1" "echo \$PPID >$T/inner.new; mv $T/inner.new $T/inner; exec ${2:-$TICKER $TICKS}"
}
# Not even a zombie is left.
reaped() { ! kill -0 "$1" 2>/dev/null; }
kill_inner() {
  eventually 10s file_has "$T/inner"
  kill -KILL "$(cat "$T/inner")"
  eventually 10s reaped "$(cat "$T/inner")"
}

@test "K03: a nested run is killed: the lock is free as soon as the outer one has ended" {
  dlock_run a --ttl 60s killed -- sh -c "$(below killed); $(until_there "$T/go"); exit 4"
  eventually 10s ticking
  dlock_run b -w 60 killed -- true
  kill_inner
  eventually 10s ticker_gone
  [ "$(hold_count killed) $(hold_records killed)" = "2 2" ]
  touch "$T/go"
  ends 10s a "exit 4"
  ends 20s b "exit 0" # told, as always
  assert_free killed
  run ! grep -q '^dlock' "$T/a.err"
}

@test "K03: a nested run that is the command itself is killed: the lock is free when the outer one ends" {
  dlock_run a --ttl 60s -v direct -- "$DLOCK" run direct -- "$TICKER" "$TICKS" ignore 15
  eventually 10s ticking
  [ "$(hold_count direct)" = 2 ]
  kill -KILL "$(ps -o ppid= "$(awk '{print $2; exit}' "$TICKS")" | tr -d ' ')"
  ends 10s a "signal 9"
  ticker_gone
  assert_free direct
}

@test "K03: a whole chain of nested runs is killed: all that they left goes" {
  dlock_run a --ttl 60s chain -- sh -c "$(below chain "$(below chain)"); $(until_there "$T/go")"
  eventually 10s ticking
  [ "$(hold_count chain)" = 3 ]
  # Its guard kills the next one, and the guard of that one the command.
  local middle
  middle=$(ps -o ppid= "$(cat "$T/inner")")
  kill -KILL "${middle// /}"
  eventually 10s reaped "${middle// /}"
  eventually 10s reaped "$(cat "$T/inner")"
  eventually 10s ticker_gone
  touch "$T/go"
  ends 10s a "exit 0"
  assert_free chain
}

@test "K03: another nested run that lives keeps the lock until it ends, and no longer" {
  dlock_run a --ttl 60s living -- sh -c "setsid -f $(below living "sh -c '$(until_there "$T/go2")'")
    until [ -e $T/inner ]; do sleep 0.02; done; mv $T/inner $T/other
    $(below living); $(until_there "$T/go")"
  eventually 10s ticking
  kill_inner
  eventually 10s ticker_gone
  touch "$T/go"
  ends 10s a "exit 0"
  [ "$(hold_count living) $(hold_records living)" = "1 1" ]
  run -75 --separate-stderr "$DLOCK" run -n living -- true
  touch "$T/go2"
  eventually 10s is_free living
  eventually 10s gone "$(cat "$T/other")"
}

@test "K03: the command of a killed nested run that lives on keeps the lock, for one lease" {
  # In a session of its own, with its dlock and its guard killed at once: nobody stops it.
  dlock_run a --ttl 60s orphan -- sh -c "setsid -f $(below orphan "sh -c '$TICKER $TICKS; :'")
    $(until_there "$T/go")"
  eventually 10s ticking
  local inner guard
  inner=$(cat "$T/inner")
  guard=$(eventually 5s pgrep -P "$inner" -x lease-guard) # it names itself
  kill -STOP "$inner"
  kill -KILL "$guard" "$inner"
  eventually 10s gone "$inner"
  touch "$T/go"
  ends 10s a "exit 0"
  run ! ticker_gone
  [ "$(hold_count orphan) $(hold_records orphan)" = "1 1" ]
  r del dlock:orphan 'dlock:holds:{dlock:orphan}'
}

@test "K03: a record that does not say where its run was keeps the lock" {
  dlock_run a --ttl 60s unknown -- sh -c "$(below unknown); $(until_there "$T/go")"
  eventually 10s ticking
  kill_inner
  eventually 10s ticker_gone
  local id
  for id in $(r hkeys 'dlock:holds:{dlock:unknown}'); do
    r hget 'dlock:holds:{dlock:unknown}' "$id" | grep -q '"machine"' || continue
    r hset 'dlock:holds:{dlock:unknown}' "$id" \
      "$(r hget 'dlock:holds:{dlock:unknown}' "$id" | sed 's/,"machine":"[^"]*"//')"
    touch "$T/rewritten"
  done
  [ -e "$T/rewritten" ]
  touch "$T/go"
  ends 10s a "exit 0"
  [ "$(hold_count unknown) $(hold_records unknown)" = "1 1" ]
  r del dlock:unknown 'dlock:holds:{dlock:unknown}'
}
