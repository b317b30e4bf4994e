#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a release notes how its run ended, behind the record of the hold, in the frequent release and
# in every other one; and only the release of an owner's last hold does.
load ../support/suite
suite server empty lua

END='"outcome":"child","exit_status":3,"keep_ms":60000}'
noted() { r get "$LAST"; }
without_times() { sed -E 's/[0-9]{13,16}/N/g'; }

@test "the frequent release and the others note the same" {
  acquire a:1 s
  release a:1 s
  local frequent
  frequent=$(noted | without_times)
  assert_equal "$frequent" "{\"token\":N,\"since_ms\":N,${RECORD%\}},$END"
  ttl_between "$LAST" 50000 60000
  r del "$LAST"
  acquire a:1 s
  release a:1 s 0 60000 # a success
  assert_equal "$(noted | without_times)" "$frequent"
  r del "$LAST" "$D"
  acquire a:1 s
  release a:1 s 60000 # kept
  assert_equal "$(noted | without_times)" "$frequent"
}

@test "a nested hold, a lost one and a release without an end note nothing" {
  acquire a:1 s
  acquire a:1 t 10000 a:1 s
  release a:1 t
  run -0 noted
  assert_output ""
  release b:1 x
  END='' release a:1 s
  run -0 noted
  assert_output ""
}

@test "a release succeeds at once on a server that refuses the note" {
  # shellcheck disable=SC2046  # words
  r acl setuser worker reset on nopass '&*' +@all "~$K" "~$T" \
    $(printf '~dlock:%s:* ' holds revoked line waiters 'done' released) >/dev/null
  acquire a:1 s
  BY=worker run -0 release a:1 s
  assert_line -n 0 released
  acquire a:1 s
  BY=worker run -0 release a:1 s 0 60000 # a success
  assert_line -n 0 released
  run -0 noted
  assert_output ""
}

@test "of readers and slots the largest token stays known" {
  local call first second
  for call in shared "slots 2"; do
    r flushall
    $call acquire a:1 s
    first=$(token a:1 s)
    $call acquire b:1 s
    second=$(token b:1 s)
    $call release b:1 s
    [[ $(noted) == "{\"token\":$second,"* ]]
    refute [ "$(noted | grep -c newest)" = 1 ]
    $call release a:1 s
    [[ $(noted) == "{\"token\":$first,"*",\"newest\":$second,\"outcome\""* ]]
  done
}

@test "inspect has the note, for how long it is kept, and the newest token" {
  acquire a:1 s
  local token
  token=$(token a:1 s)
  release a:1 s
  run -0 inspect
  assert_line "$(noted)"
  assert_equal "${lines[-1]}" "$token"
}
