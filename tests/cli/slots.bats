#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: never more than N, each in a slot of its own from 0 to N-1 that it keeps; a dead holder's
# slot comes back with the end of its lease; who came first enters first.
# MODES_FULL=1: the crowd runs for a minute.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells
load ../support/suite
suite server empty section line modes

n_at_a_time() {
  enter a --slots 3 pool
  enter b --slots 3 pool
  enter c --slots 3 pool
  [ "$(of a DLOCK_SLOT) $(of b DLOCK_SLOT) $(of c DLOCK_SLOT)" = "0 1 2" ]
  [ "$(of c DLOCK_MODE)" = slots ]
  refused 75 pool -n --slots 3 pool
  go b
  enter d --slots 3 pool # the lowest that is free
  [ "$(of d DLOCK_SLOT)" = 1 ]
  go a d
  enter e --slots 3 pool
  [ "$(of e DLOCK_SLOT)" = 0 ]
  go c e
}
@test "three at a time, each in the lowest slot that is free" {
  n_at_a_time
  assert_no_keys
}
@test "three at a time, each in the lowest slot that is free, in a directory" {
  in_a_directory
  n_at_a_time
}

@test "each slot has a token of its own" {
  enter a --slots 2 pool
  enter b --slots 2 pool
  [ "$(of a DLOCK_TOKEN)" -lt "$(of b DLOCK_TOKEN)" ]
  [ "$(of a DLOCK_OWNER)" != "$(of b DLOCK_OWNER)" ]
  go a b
}

@test "a nested run shares the slot, and releases only its own hold" {
  enter a --slots 2 pool
  run -0 "$DLOCK" run --slots 2 pool -- sh -c 'echo "$DLOCK_SLOT $DLOCK_TOKEN"
    "$DLOCK" run -n --slots 2 pool -- sh -c "echo \"\$DLOCK_SLOT \$DLOCK_TOKEN\""
    env -u DLOCK_HOLDS "$DLOCK" run -n --slots 2 pool -- true 2>/dev/null; echo $?'
  [[ ${lines[0]} == "1 "* ]]
  [ "${lines[0]}" = "${lines[1]}" ]
  [ "${lines[2]}" = 75 ]
  go a
  assert_no_keys
}

other_number() {
  enter a --slots 3 pool
  refused 75 '(wanted one of 4 slots)' -n --slots 4 pool
  refused 75 '1 of 3 slots held' -n --slots 2 pool
  come x --slots 4 pool
  go a
  enters x
  refused 75 '1 of 4 slots held' -n --slots 3 pool
  go x
}
@test "another number of slots waits until the present ones have ended, and is told both numbers" {
  other_number
  assert_no_keys
}
@test "another number of slots waits until the present ones have ended, in a directory" {
  in_a_directory
  other_number
}

@test "a claim of the whole lock waits for all slots, and no slot is granted before it" {
  enter a --slots 3 pool
  enter b --slots 3 pool
  queue x pool
  queue c --slots 3 pool
  refused 75 '' -n --slots 3 pool
  go a
  outside x c
  go b
  enters x
  outside c
  go x
  enters c
  go c
  assert_no_keys
}

@test "the first waiter gets the slot that becomes free" {
  local who
  enter a --slots 2 pool
  enter b --slots 2 pool
  for who in c d e f; do queue "$who" --slots 2 pool; done
  go a
  enters c
  outside d
  go b
  enters d
  outside e
  go c d
  enters e
  enters f
  [ "$(of e DLOCK_TOKEN)" -lt "$(of f DLOCK_TOKEN)" ]
  go e f
  assert_no_keys
}

@test "a dead holder's slot is free when its own lease is over, though the others renew theirs" {
  enter a --slots 2 --ttl 60s pool
  enter b --slots 2 --ttl 3s pool
  local slot over
  slot=$(of b DLOCK_SLOT)
  kill_both b
  over=$(lease_end pool "$(of b DLOCK_OWNER)")
  come c --slots 2 -w 30 pool
  enters c
  [ "$(of c DLOCK_TOKEN)" -ge "$over" ]
  [ "$(of c DLOCK_TOKEN)" -lt $((over + 5000000)) ]
  [ "$(of c DLOCK_SLOT)" = "$slot" ]
  [ "$(of a DLOCK_SLOT)" = 0 ]
  go a c
  assert_no_keys
}

@test "three killed holders: all slots are back after their leases" {
  local who began took
  for who in a b c; do enter "$who" --slots 3 --ttl 3s pool; done
  for who in a b c; do come "n$who" --slots 3 -w 40 pool; done
  for who in a b c; do kill -KILL "$(cat "$T/$who.pid")"; done
  began=$(boot_ms)
  for who in na nb nc; do enters "$who"; done
  took=$(($(boot_ms) - began))
  echo "# with leases of 3 s all slots were taken again after $took ms" >&3
  [ "$took" -lt 9000 ]
  [ "$(for who in na nb nc; do of "$who" DLOCK_SLOT; done | sort | xargs)" = "0 1 2" ]
  go na nb nc
  assert_no_keys
}

@test "inspect and list say how many of how many" {
  enter a --slots 3 --reason import pool
  enter b --slots 3 pool
  run -0 "$DLOCK" inspect pool
  assert_output --partial '2 of 3 slots held'
  assert_output --partial 'and 1 other'
  run -0 "$DLOCK" list pool
  assert_output --partial '2 of 3 slots'
  "$DLOCK" inspect --json pool >"$T/json"
  [ "$(json 'd["locks"][0]["mode"]' <"$T/json")" = slots ]
  [ "$(json 'd["locks"][0]["slots"]' <"$T/json")" = 3 ]
  [ "$(json 'sorted((h["pid"], h["slot"]) for h in d["locks"][0]["holds"])' <"$T/json")" = \
    "$(json 'sorted([(int(x), int(y)) for x, y in [w.split("/") for w in d]])' \
      <<<"[\"$a_pid/0\", \"$b_pid/1\"]")" ]
  go a b
  run -0 "$DLOCK" run pool -- "$DLOCK" inspect --json pool
  [ "$(json 'd["locks"][0]["slots"]' <<<"$output")" = null ]
}

@test "the number of slots is from 1 to 1000; one mode at a time; the last source wins" {
  local bad
  for bad in 0 -1 1001 x 1.5 ''; do
    run -64 "$DLOCK" run --slots="$bad" pool -- touch "$MARKER"
  done
  for bad in '-s -x' '-s --slots 2' '-x --slots 2'; do
    # shellcheck disable=SC2086  # words on purpose
    run -64 --separate-stderr "$DLOCK" run $bad pool -- touch "$MARKER"
    assert_one_line
  done
  assert_not_started
  run -0 "$DLOCK" run --slots 1 pool -- sh -c 'echo "$DLOCK_SLOT"'
  assert_output 0
  run -0 "$DLOCK" run --slots 1000 pool -- sh -c 'echo "$DLOCK_SLOT"'
  assert_output 0
  run -0 env DLOCK_SLOTS=3 "$DLOCK" run pool -- sh -c 'echo "$DLOCK_MODE"'
  assert_output slots
  run -0 env DLOCK_SLOTS=3 "$DLOCK" run -s pool -- sh -c 'echo "$DLOCK_MODE"'
  assert_output shared
}

@test "three slots, sixty contenders, random SIGKILLs: never four, no slot twice, first come first served" {
  crowd slots
  # Whoever was killed has left its lease behind, and nothing else.
  eventually 10s nothing_left || assert_no_keys
}
nothing_left() { assert_no_keys >/dev/null; }

@test "three slots on one machine: the same without a server" {
  in_a_directory
  local -x REDIS_SOCKET=
  crowd slots 6
}

# bats test_tags=nightly
@test "a fourth slot is found out" { wrong_crowd slots!; }
