#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: freeze and unfreeze answer and store what their headers and dlock-protocol(7) say; no other
# script ends a freeze or shortens its time.
load ../support/suite
suite server empty lua

freeze() { run_script freeze 4 "$K" "$H" "$R" "$L" "$G" "${2:-f:1}" "${1:-60000}" "$RECORD"; } # MS [OWNER]
unfreeze() { run_script unfreeze 4 "$K" "$H" "$L" "$W" "$G"; }
frozen_until() { r hget "$H" frozen | cut -d ' ' -f 1; }

@test "freeze 'frozen': a free name is kept, a held one is marked; the answer has the state before" {
  run -0 freeze
  assert_line -n 0 frozen
  assert_line -n 1 none
  assert_regex "$(r hget "$H" frozen)" \
    '^[0-9]{13} f:1 \{"token":0,"since_ms":[0-9]{13},"kept":true,"host":"h","pid":1\}$'
  [ "$(r hgetall "$K" | xargs)" = "f:1 1" ]
  [ "$(r hget "$H" "f:1#kept")" = "$(r hget "$H" frozen | cut -d ' ' -f 3-)" ]
  ttl_between "$K" 50000 60000
  records_between "$H" 50000 60000
  r flushall
  acquire a:1 s
  run -0 freeze
  assert_line -n 1 hash
  assert_line a:1
  [ "$(r hgetall "$K" | xargs)" = "a:1 1" ]
  ttl_between "$K" 5000 10000
  records_between "$H" 50000 60000
}

@test "a freeze of a key that is no hash, and of a lock of another program" {
  r set "$H" text
  run -0 freeze
  [ "$(r hgetall "$K" | xargs)" = "f:1 1" ]
  r flushall
  r set "$K" theirs px 5000
  run -0 freeze
  assert_line -n 1 string
  [ "$(r get "$K")" = theirs ]
  r del "$K"
  run -0 acquire a:1 s
  assert_line -n 0 busy
  [ "$(r hgetall "$K" | xargs)" = "f:1 1" ]
}

@test "renewals, checks and late releases leave a freeze as it is" {
  acquire a:1 s
  freeze 60000
  local before
  before=$(frozen_until)
  for _ in 1 2; do
    run -0 renew a:1 s 5000
    assert_output renewed
    run -0 renew a:1 s 0 5000
    assert_output held
    records_between "$H" 50000 60000
  done
  run -0 release b:1 s
  assert_output not_held
  [ "$(frozen_until)" = "$before" ]
  records_between "$H" 50000 60000
  run -0 release a:1 s
  assert_line -n 0 released
  [ "$(frozen_until)" = "$before" ]
  [ "$(r hgetall "$K" | xargs)" = "a:1 1" ]
  ttl_between "$K" 50000 60000
  run -0 renew a:1 s
  assert_line -n 0 lost
  run -0 release a:1 kept
  assert_output not_held
}

@test "the frequent release sees that the name is frozen, with --keep and without" {
  local keep
  for keep in 0 5000 100000; do
    r flushall
    acquire a:1 s
    freeze 60000
    run -0 release a:1 s "$keep"
    assert_line -n 0 released
    ttl_between "$K" 50000 $((keep > 60000 ? keep : 60000))
    [ -n "$(frozen_until)" ]
  done
  ttl_between "$K" 90000 100000
}

@test "a freeze that has ended is as none: the next claim removes what is left of it" {
  acquire a:1 s
  freeze 50
  sleep 0.2
  run -0 inspect
  refute_output --partial '"token":0'
  release a:1 s
  run -0 acquire b:1 s
  assert_line -n 0 granted
  [ "$(r hexists "$H" frozen)" = 0 ]
}

@test "revoke 'frozen': a freeze that keeps the lock is not revoked, at once or not" {
  freeze
  run -0 revoke u@h 0
  assert_line -n 0 frozen
  run -0 revoke u@h 1
  assert_line -n 0 frozen
  run -0 revoke u@h 1 f:1
  assert_line -n 0 frozen
  run -0 revoke u@h 0 other:1
  assert_line -n 0 other_holder
  [ "$(r hgetall "$K" | xargs)" = "f:1 1" ]
}

@test "unfreeze 'unfrozen', 'nothing': frees what the freeze kept, and tells the first waiter" {
  run -0 unfreeze
  assert_output nothing
  acquire a:1 s
  run -0 unfreeze
  assert_output nothing
  freeze
  run -0 unfreeze
  assert_line -n 0 unfrozen
  assert_line -n 1 --regexp '^(5[0-9]{4}|60000)$'
  assert_line -n 2 --partial '"host":"h"'
  [ "$(r hgetall "$K" | xargs)" = "a:1 1" ]
  freeze
  release a:1 s
  stand_polling b:1 s
  listen
  run -0 unfreeze
  assert_line -n 0 unfrozen
  [ "$(r exists "$K" "$H")" = 0 ]
  run -0 said
  assert_line "$C 0"
  assert_line "${TURN}b:1#s turn"
  run -0 stand_polling b:1 s
  assert_line -n 0 granted
  kill "$EAR"
}

@test "unfreeze 'unfrozen' and freeze leave a lock that another program took from a freeze" {
  local again
  for again in unfreeze freeze; do
    for kind in plain reader; do
      r flushall
      freeze 60000
      r del "$K"
      r hset "$K" java:1 1
      [ "$kind" != reader ] || { r hset "$K" mode read && r set "$(lease java:1)" 1 px 30000; }
      r pexpire "$K" 30000
      before=$(r hgetall "$K")
      run -0 $again
      [ "$(r hgetall "$K")" = "$before" ]
      ttl_between "$K" 20000 30000
    done
  done
  r flushall
  freeze 50
  sleep 0.2 # the records outlast it
  r hset "$K" java:1 1
  run -0 unfreeze
  assert_output nothing
  [ "$(r hgetall "$K" | xargs)" = "java:1 1" ]
}

@test "a claim of several names keeps each frozen one again, and no other" {
  # shellcheck disable=SC2034  # for lua.bash
  NAMES=(n m)
  freeze 60000
  r del "$K"
  run -0 acquire a:1 s
  assert_line -n 0 busy
  [ "$(r hgetall "$K" | xargs)" = "f:1 1" ]
  [ "$(r exists dlock:m)" = 0 ]
}
