#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: every release that frees a lock tells its first waiter, under the serial of a run and under
# that of acquire, whichever part of the script carries it out.
# shellcheck disable=SC2034,SC2086  # what lua.bash reads; words
load ../support/suite
suite server empty lua subscribers

setup() {
  set_up
  SUBSCRIBERS=()
  TTL=60000
}
teardown() {
  local pid
  for pid in "${SUBSCRIBERS[@]}"; do kill "$pid" 2>/dev/null || true; done
  clean_up
}

RUN=0123456789abcdef # a serial as that of a run

# Each of these releases the hold that h:1 has in the mode HOW, under SERIAL.
frequent() { $1 release h:1 "$2"; }
that_notes_a_success() { $1 release h:1 "$2" 0 60000; }
beside_a_record() {
  r hset "$H" 'x:1#s' '{"token":1}' >/dev/null
  $1 release h:1 "$2"
}
after_a_nested_one() {
  $1 acquire me:2 t 60000 h:1 "$2" >/dev/null
  $1 release h:1 t >/dev/null
  $1 release h:1 "$2"
}
before_a_nested_one() {
  $1 acquire me:2 t 60000 h:1 "$2" >/dev/null
  $1 release h:1 "$2" >/dev/null
  $1 release h:1 t
}

@test "release under each serial and in each way tells the first waiter its turn" {
  local serial how way who number=0
  for serial in "$RUN" "$STEP"; do
    for how in "" writing shared "slots 1"; do
      for way in frequent that_notes_a_success beside_a_record after_a_nested_one before_a_nested_one; do
        r flushall >/dev/null
        number=$((number + 1))
        who=w$number:1
        $how acquire h:1 "$serial" >/dev/null
        subscribe "$who"
        writing stand "$who" s >/dev/null
        run -0 "$way" "$how" "$serial"
        assert_output released
        assert_equal "$serial $how $way: $(received "$who")" "$serial $how $way: turn"
      done
    done
  done
}

@test "release of a write hold above a read tells the first reader in line its turn" {
  writing acquire h:1 "$RUN"
  shared acquire me:2 t 60000 h:1 "$RUN"
  subscribe a:1
  shared stand a:1 s
  run -0 writing release h:1 "$RUN"
  assert_output still_held
  assert_equal "$(received a:1)" turn
}
