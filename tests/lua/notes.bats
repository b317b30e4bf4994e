#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: what is kept is held by nobody and ends by itself; what is done is told for as long as it
# counts; all keys of a lock share its tag; and whatever another program put where dlock keeps its
# notes, a script says so before its first write, or goes on.
# shellcheck disable=SC2034,SC2086  # what lua.bash reads; words
load ../support/suite
suite server empty lua

setup() {
  set_up
  TTL=60000 EAR=""
}
teardown() {
  [ -z "$EAR" ] || kill "$EAR" 2>/dev/null || true
  clean_up
}

# --- kept ----------------------------------------------------------------------------------------

@test "release 'released' that keeps the lock: for the given time, more or less than its lease" {
  for keep in 30000 300000; do
    r flushall
    acquire a:1 s
    [ -n "$EAR" ] || listen
    run -0 release a:1 s "$keep"
    assert_output released
    # Redisson's waiters sleep for what they were told.
    assert_equal "$(said)" "$([ "$keep" -gt 60000 ] || echo "$C 0")"
    ttl_between "$K" $((keep - 20000)) "$keep"
    records_between "$H" $((keep - 20000)) "$keep"
    assert_equal "$(r hgetall "$K") $(r hkeys "$H")" $'a:1\n1 a:1#kept'
    assert_regex "$(r hget "$H" 'a:1#kept')" \
      '^\{"token":[0-9]{16},"kept":true,"since_ms":[0-9]{13},"host":"h","pid":1\}$'
  done
}

@test "a kept lock has no owner: not renewed, not released, not joined, not granted again" {
  for how in "" writing shared "slots 1"; do
    r flushall
    $how acquire a:1 s
    $how release a:1 s 30000
    before=$(r hgetall "$K" && r hgetall "$H")
    for serial in s kept; do
      run -0 $how renew a:1 "$serial"
      assert_line -n 0 lost
      run -0 $how renew a:1 "$serial" 0
      assert_line -n 0 lost
      run -0 $how release a:1 "$serial"
      assert_output not_held
      run -0 $how acquire me:2 t 60000 a:1 "$serial"
      if [ "$how" = shared ]; then
        assert_line -n 1 me:2  # beside it, as anybody
        shared release me:2 t
      else
        assert_line -n 0 busy
      fi
    done
    assert_equal "$(r hgetall "$K" && r hgetall "$H")" "$before"
    ttl_between "$K" 1 30000
  done
}

@test "kept beside others: its own lease lasts so long, and a slot stays taken" {
  slots 2 acquire a:1 s
  slots 2 acquire b:1 s
  slots 2 release a:1 s 300000
  ttl_between "$(lease a:1)" 250000 300000
  ttl_between "$(lease b:1)" 1000 60000
  ttl_between "$K" 250000 300000
  assert_equal "$(slot a:1 kept)" 0
  run -0 slots 2 acquire c:1 s
  assert_line -n 0 busy
  slots 2 release b:1 s
  slots 2 acquire c:1 s
  assert_equal "$(slot c:1)" 1
  r del "$(lease a:1)"
  slots 2 acquire d:1 s
  assert_equal "$(slot d:1)" 0
  assert_equal "$(r hkeys "$H" | sort | xargs)" "c:1#s d:1#s"
}

@test "a repeated nested claim takes nothing beside the hold above it, even if that is revoked" {
  for how in shared "slots 2"; do
    r flushall
    $how acquire a:1 s
    $how acquire me:2 t 60000 a:1 s
    revoke ann@h 0
    before=$(dump_all)
    run -0 $how acquire me:2 t 60000 a:1 s
    assert_line -n 0 busy
    assert_equal "$(dump_all)" "$before"
    # Nor where a run above it comes back by a late copy.
    r flushall
    $how acquire me:2 t 60000 a:1 s
    revoke ann@h 0
    $how acquire a:1 s
    before=$(dump_all)
    run -0 $how acquire me:2 t 60000 a:1 s
    assert_line -n 0 busy
    assert_equal "$(dump_all)" "$before"
  done
}

@test "a late copy of the acquire of a kept lock takes nothing, also where there is room" {
  for how in shared "slots 2"; do
    r flushall
    $how acquire a:1 s
    $how release a:1 s 30000
    before=$(dump_all)
    run -0 $how acquire a:1 s
    assert_line -n 0 busy
    assert_equal "$(dump_all)" "$before"
    ttl_between "$(lease a:1)" 1000 30000
    # The same while a nested one goes on.
    r flushall
    $how acquire a:1 s
    $how acquire me:2 t 60000 a:1 s
    $how release a:1 s
    before=$(dump_all)
    run -0 $how acquire a:1 s
    assert_line -n 0 busy
    assert_equal "$(dump_all)" "$before"
  done
}

@test "a writer's lock is kept in the writer's mode, though a read under it has died" {
  writing acquire a:1 s
  shared acquire me:2 t 60000 a:1 s
  r del "$(lease a:1)" # has ended
  run -0 writing release a:1 s 30000
  assert_output released
  assert_equal "$(r hgetall "$K" | xargs) $(r hkeys "$H")" 'mode write a:1:write 1 a:1#kept'
  ttl_between "$K" 20000 30000
  run -0 shared acquire b:1 s
  assert_line -n 0 busy
}

@test "only the last hold of an owner is kept" {
  acquire a:1 s
  acquire me:2 t 60000 a:1 s
  run -0 release a:1 s 300000
  assert_output still_held
  ttl_between "$K" 1000 60000
  run -0 release a:1 t
  assert_line -n 0 released
  assert_equal "$(r exists "$K")" 0
}

@test "revoke 'deleted' of a kept lock, also if not urgent; beside holders the kept one goes too" {
  for how in "" writing shared "slots 2"; do
    r flushall
    $how acquire a:1 s
    $how release a:1 s 30000
    run -0 revoke ann 0
    assert_line -n 0 deleted
    assert_equal "$(r exists "$K" "$R" "$(lease a:1)")" 0
  done
  slots 2 acquire a:1 s
  slots 2 acquire b:1 s
  slots 2 release a:1 s 30000
  run -0 revoke ann 0
  assert_line -n 0 revoked
  assert_equal "$(r hkeys "$K" | xargs) $(r hkeys "$R")" "mode b:1 b:1"
  assert_equal "$(r hkeys "$H")" "b:1#s"
}

# --- done ----------------------------------------------------------------------------------------

@test "acquire 'done': a success counts from its grant, and each claim says for how long" {
  acquire a:1 s
  run -0 wanted_once 600000 acquire b:1 s
  assert_line -n 0 busy
  since=$(r hget "$H" 'a:1#s' | grep -oP '"since_ms":\K[0-9]+')
  sleep 0.02  # so that its end is another moment
  release a:1 s 0 300000
  ttl_between "$D" 200000 300000
  assert_equal "$(r get "$D")" "$since"
  run -0 wanted_once 600000 acquire b:1 s
  assert_line -n 0 'done'
  [ "${lines[1]}" -ge 0 ] && [ "${lines[1]}" -lt 100000 ]
  # A minute ago.
  r set "$D" $(($(r get "$D") - 60000)) keepttl
  run -0 wanted_once 61000000 acquire b:1 s
  assert_line -n 0 'done'
  [ "${lines[1]}" -ge 60000 ]
  run -0 wanted_once 60000 acquire b:1 s
  assert_line -n 0 granted
  run -0 wanted_once 0 acquire c:1 s
  assert_line -n 0 busy
}

@test "acquire 'done' also of a held name or in line: the waiter leaves, and the next one gets its turn" {
  wanted_once 600000 acquire a:1 s
  stand_polling b:1 s
  stand_polling c:1 s
  release a:1 s 0 300000
  run -0 wanted_once 600000 stand_polling b:1 s
  assert_line -n 0 'done'
  assert_equal "$(in_line)" c:1
  run -0 stand_polling c:1 s  # which does not ask for it
  assert_line -n 0 granted
  run -0 wanted_once 600000 stand_polling d:1 s
  assert_line -n 0 'done'
  assert_equal "$(in_line)" ""
}

@test "a success does not concern a present holder, or a claim below a holder" {
  acquire a:1 s
  r set "$D" "$(date +%s)000" px 300000
  run -0 wanted_once 600000 acquire a:1 s
  assert_line -n 0 granted
  run -0 wanted_once 600000 acquire me:2 t 60000 a:1 s
  assert_line -n 0 granted
  assert_line -n 1 a:1
  # The success of a nested run is told at once, whatever the one above does.
  r del "$D"
  run -0 release a:1 t 0 300000
  assert_output still_held
  ttl_between "$D" 200000 300000
}

@test "no success is noted after its time to count, or after the lease; no time is shortened" {
  acquire a:1 s
  sleep 0.05
  run -0 release a:1 s 0 10
  assert_line -n 0 released
  assert_equal "$(r exists "$D")" 0
  acquire a:1 s
  r set "$D" 5 px 300000
  run -0 release a:1 s 0 60000
  ttl_between "$D" 200000 300000
  r del "$D"
  shared acquire a:1 s
  shared acquire b:1 s
  r del "$(lease a:1)"
  run -0 shared release a:1 s 0 60000
  assert_output not_held
  assert_equal "$(r exists "$D")" 0
}

# --- the keys ------------------------------------------------------------------------------------

@test "all keys that the scripts look at or make share the tag of the lock" {
  redis-cli -s "$REDIS_SOCKET" monitor >"$BATS_TEST_TMPDIR/seen" 3>&- &
  EAR=$!
  eventually 5s seen_so_far begins
  for how in "" writing shared "slots 2"; do
    r flushall
    $how acquire a:1 s
    wanted_once 60000 $how acquire me:2 t 60000 a:1 s
    $how renew a:1 s
    $how stand_polling b:1 s
    $how stand_polling c:1 s
    inspect
    $how release a:1 t 0 300000
    $how release a:1 s 20000 300000
    $how leave b:1 s polls
    revoke ann 0
    $how leave c:1 s polls
    $how acquire d:1 s
    revoke ann 0
    revoke ann 1
    $how acquire e:1 "$STEP"
    $how release e:1 "$STEP"
    relying_on "e:1#$STEP" $how acquire me:2 t 60000 e:1 "$STEP"
    $how renew e:1 "$STEP"
  done >/dev/null
  eventually 5s seen_so_far ends
  kill "$EAR"
  # [0 lua] "HGET" "dlock:n" …
  sed -nE 's/^[^[]*\[[0-9]+ lua\] "([A-Z]+)" ?"?([^"]*)"?.*/\1 \2/p' "$BATS_TEST_TMPDIR/seen" |
    grep -vxE 'TIME ?|INFO replication' >"$BATS_TEST_TMPDIR/touched"
  [ "$(wc -l <"$BATS_TEST_TMPDIR/touched")" -gt 400 ]
  grep -c "rwlock_timeout" "$BATS_TEST_TMPDIR/touched"
  run grep -vE " dlock:n\$|\{dlock:n\}" "$BATS_TEST_TMPDIR/touched"
  assert_output ""
}
seen_so_far() {
  r echo "$1" >/dev/null
  grep -q "\"$1\"" "$BATS_TEST_TMPDIR/seen"
}

# All that is stored, in one breath, without times.
image() {
  r eval 'local all = {}
    local keys = redis.call("KEYS", "*")
    table.sort(keys)
    for _, key in ipairs(keys) do all[#all + 1] = key .. redis.sha1hex(redis.call("DUMP", key)) end
    return redis.sha1hex(table.concat(all))' 0
}
# foreign KEY: something stands there that is none of ours.
foreign() {
  r del "$1" >/dev/null
  r rpush "$1" theirs >/dev/null
}
free() { r del "$K" >/dev/null; }

@test "something foreign at any of the notes: no error comes after a write, and no release fails" {
  for how in "" writing shared "slots 2"; do
    for key in "$H" "$R" "$D" "$L" "$W" "$T" "$(lease a:1)"; do
      r flushall
      $how acquire a:1 s
      $how stand_polling w:1 s
      foreign "$key"
      for call in "acquire b:1 s" "stand_polling c:1 s" "acquire me:2 t 60000 a:1 s" \
        "stand_polling me:3 t 60000 a:1 s" "wanted_once 60000 acquire d:1 s" "renew a:1 s" \
        "inspect" "release a:1 t 0 300000" "free" "acquire e:1 s"; do
        before=$(image)
        answer=$($how $call)
        if [[ $answer == *ERR* || $answer == *WRONGTYPE* ]]; then
          assert_equal "$how $key $call $(image)" "$how $key $call $before"
        fi
      done
    done
  done
}

@test "something foreign at any of the notes: the lock is released all the same" {
  for how in "" writing shared "slots 2"; do
    for key in "$R" "$D" "$L" "$W" "$T"; do
      r flushall
      $how acquire a:1 s
      foreign "$key"
      run -0 $how release a:1 s 0 300000
      assert_output released
      assert_equal "$how $key $(r exists "$K")" "$how $key 0"
    done
  done
}

# --- forget --------------------------------------------------------------------------------------

forget() { run_script forget 1 "$D"; }
@test "forget 'forgotten', 'nothing': deletes a success and changes nothing else; inspect shows it" {
  acquire a:1 s
  run -0 forget
  assert_output nothing
  r rpush "$D" theirs
  run -0 forget
  assert_output nothing
  [ "$(r exists "$D")" = 1 ]
  r del "$D"
  r set "$D" 1795219200123 px 300000
  before=$(r hgetall "$K" && r hgetall "$H")
  run -0 inspect
  assert_line 1795219200123
  run -0 forget
  assert_line -n 0 forgotten
  assert_line -n 1 1795219200123
  assert_line -n 3 --regexp '^(29[0-9]{4}|300000)$'
  assert_equal "$(r exists "$D")" 0
  assert_equal "$(r hgetall "$K" && r hgetall "$H")" "$before"
}
