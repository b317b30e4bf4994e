#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: acquire takes a waiter that said --supersede out of the line if a later one that said so, too,
# stands behind it, and says who; with "holder" it has the server revoke a holder that said "holder".
load ../support/suite
suite server empty lua

# shellcheck disable=SC2034  # RECORD is for the functions of lua.bash
as() { # WORD COMMAND…: the claim, or the waiter, says --supersede WORD
  local RECORD="\"host\":\"h\",\"pid\":1,\"user\":\"u\",\"supersede\":\"$1\"}"
  "${@:2}"
}

@test "acquire 'superseded': the waiter is out of its lines, and the next has its turn" {
  acquire a:1 s
  as waiting stand_polling b:1 s
  stand_polling c:1 s
  as holder stand_polling d:1 s
  release a:1 s
  run -0 as waiting stand_polling b:1 s
  assert_line -n 0 superseded
  assert_line -n 1 '{"id":"d:1#s","polls":true,"host":"h","pid":1,"user":"u","supersede":"holder"}'
  [ "$(r zcard "$L")" = 2 ]
  [ "$(r zcard "$W")" = 2 ]
  run -0 stand_polling c:1 s
  assert_line -n 0 granted
  [ "$(r hexists "$R" a:1)" = 0 ]
}

@test "the words in another text of the record count for nothing" {
  acquire a:1 s
  local b='{"id":"b:1#s","polls":true,"reason":"\"supersede\":\"holder\""}'
  acquire_as "$b" '' b:1 s
  acquire_as "${b//b:1/c:1}" '' c:1 s
  run -0 acquire_as "$b" '' b:1 s
  assert_line -n 0 busy
  [ "$(r exists "$R")" = 0 ]
}

@test "a holder is revoked once, and until its lease ends; not if one of its holds says nothing" {
  as holder acquire a:1 s
  as holder stand_polling b:1 s
  [ "$(r hgetall "$R" | xargs)" = "a:1 u@h (--supersede)" ]
  ttl_between "$R" 5000 10000
  run -0 renew a:1 s
  assert_line -n 0 revoked
  r flushall
  as holder acquire a:1 s
  acquire a:1 nested 10000 a:1 s
  as holder stand_polling b:1 s
  [ "$(r exists "$R")" = 0 ]
}

@test "a holder that was revoked before keeps the name of its revoker; text at the key is replaced" {
  as holder acquire a:1 s
  revoke bob@ops 0
  as holder stand_polling b:1 s
  [ "$(r hgetall "$R" | xargs)" = "a:1 bob@ops" ]
  r set "$R" text
  as holder stand_polling b:1 s
  [ "$(r hgetall "$R" | xargs)" = "a:1 u@h (--supersede)" ]
}
