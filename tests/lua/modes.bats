#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: readers and writers stand in Redis as those of Redisson do, and slots as nothing that it
# would walk into; and everybody beside others has a lease of its own.
# shellcheck disable=SC2034,SC2086  # what lua.bash reads; words
load ../support/suite
suite server empty lua

setup() {
  set_up
  EAR="" TTL=60000
}
teardown() {
  [ -z "$EAR" ] || kill "$EAR" 2>/dev/null || true
  clean_up
}

# --- how they stand there ------------------------------------------------------------------------

@test "acquire 'granted' to readers: Redisson's fields, a lease for each, a token for each" {
  run -0 shared acquire a:1 s
  assert_line -n 0 granted
  assert_equal "$(r hgetall "$K")" $'mode\nread\na:1\n1'
  assert_equal "$(r get "$(lease a:1)")" 1
  ttl_between "$(lease a:1)" 40000 60000
  ttl_between "$K" 40000 60000
  assert_regex "$(r hget "$H" 'a:1#s')" \
    '^\{"token":[0-9]{16},"since_ms":[0-9]{13},"mode":"shared","host":"h","pid":1\}$'
  run -0 shared acquire b:2 s 300000
  assert_line -n 0 granted
  assert_equal "$(r hgetall "$K")" $'mode\nread\na:1\n1\nb:2\n1'
  ttl_between "$(lease a:1)" 10000 60000
  ttl_between "$(lease b:2)" 250000 300000
  ttl_between "$K" 250000 300000
  records_between "$H" 250000 300000
  [ "$(token b:2 s)" -gt "$(token a:1 s)" ]
  shared acquire c:3 s 50000  # does not shorten what others have
  ttl_between "$K" 250000 300000
  assert_equal "$(r get "$T")" "$(token c:3 s)"
}

@test "acquire 'granted' to a writer: Redisson's fields, no key beside" {
  run -0 writing acquire a:1 s
  assert_line -n 0 granted
  assert_equal "$(r hgetall "$K")" $'mode\nwrite\na:1:write\n1'
  assert_equal "$(r keys '*' | sort | xargs)" "$(printf '%s\n' "$K" "$H" "$T" | sort | xargs)"
  ttl_between "$K" 40000 60000
  assert_regex "$(r hget "$H" 'a:1#s')" ',"mode":"write","host":'
}

@test "acquire 'granted' for slots: the lowest free number, which its holder keeps" {
  for who in a b c; do slots 3 acquire "$who:1" s >/dev/null; done
  assert_equal "$(r hgetall "$K")" $'mode\nslots:3\na:1\n1\nb:1\n1\nc:1\n1'
  for who in a b c; do ttl_between "$(lease "$who:1")" 20000 60000; done
  assert_equal "$(slot a:1) $(slot b:1) $(slot c:1)" "0 1 2"
  run -0 slots 3 acquire d:1 s
  assert_line -n 0 busy
  slots 3 release b:1 s
  slots 3 release a:1 s
  slots 3 acquire d:1 s
  slots 3 acquire e:1 s
  assert_equal "$(slot d:1) $(slot e:1) $(slot c:1)" "0 1 2"
  run -0 slots 3 acquire f:1 s
  assert_line -n 0 busy
}

@test "acquire 'busy' of another number of slots: it waits until all of the present ones have ended" {
  slots 3 acquire a:1 s
  slots 3 acquire b:1 s
  before=$(dump_all)
  for number in 2 4; do
    run -0 slots "$number" acquire c:1 s
    assert_line -n 0 busy
    assert_equal "$(busy_end "$output")" "0 0 -1 0"
  done
  assert_equal "$(dump_all)" "$before"
  slots 4 stand_polling c:1 s
  run -0 slots 3 stand_polling d:1 s # has room, but came later
  assert_equal "$(place_of "$output")" 2
  release a:1 s
  run -0 slots 4 stand_polling c:1 s
  assert_line -n 0 busy
  release b:1 s
  run -0 slots 4 stand_polling c:1 s
  assert_line -n 0 granted
  assert_equal "$(r hget "$K" mode)" slots:4
}

@test "which modes can hold a name together" {
  for held in "" writing shared "slots 2"; do
    for wanted in "" writing shared "slots 2"; do
      r flushall
      $held acquire a:1 s
      before=$(dump_all)
      answer=$($wanted acquire b:1 s)
      if [ "$held $wanted" = "shared shared" ] || [ "$held $wanted" = "slots 2 slots 2" ]; then
        assert_equal "$(first "$answer")" granted
      else
        assert_equal "$held $wanted $(first "$answer")" "$held $wanted busy"
        assert_regex "$answer" 'a:1#s'
        assert_equal "$(busy_end "$answer")" "0 0 -1 0"
        assert_equal "$(dump_all)" "$before"
      fi
    done
  done
}

@test "acquire 'granted' again beside others: no hold counts twice, and no lease is shortened" {
  for how in shared "slots 3"; do
    r flushall
    $how acquire other:1 s 50000
    first=$($how acquire a:1 s 200000)
    r pexpire "$(lease a:1)" 80000
    assert_equal "$($how acquire a:1 s 200000)" "$first"
    assert_equal "$($how acquire a:1 s 10000)" "$first"
    assert_equal "$(r hget "$K" a:1) $(r hlen "$K")" "1 3"
    ttl_between "$(lease a:1)" 150000 200000
    ttl_between "$(lease other:1)" 100 50000
    assert_equal "$(r exists "$(lease a:1 2)")" 0
  done
}

# --- renew ---------------------------------------------------------------------------------------

@test "renew 'renewed' extends one's own lease and no other, and shortens none" {
  for how in shared "slots 3"; do
    r flushall
    $how acquire a:1 s 50000
    $how acquire b:1 s 90000
    run -0 $how renew a:1 s 200000
    assert_output renewed
    ttl_between "$(lease a:1)" 150000 200000
    ttl_between "$(lease b:1)" 10000 90000
    ttl_between "$K" 150000 200000
    records_between "$H" 150000 200000
    run -0 $how renew a:1 s 10000
    assert_output renewed
    ttl_between "$(lease a:1)" 150000 200000
    run -0 $how renew b:1 s 60000
    assert_output renewed
    ttl_between "$K" 150000 200000
  done
}

@test "renew 'held' beside others: a check changes no lease" {
  shared acquire a:1 s 50000
  before=$(dump_all)
  run -0 shared renew a:1 s 0
  assert_output held
  ttl_between "$(lease a:1)" 10000 50000
  ttl_between "$K" 10000 50000
  assert_equal "$(dump_all)" "$before"
}

@test "renew 'held' beside others: a lease that is renewed is restored if cut below its half" {
  for how in shared "slots 3"; do
    r flushall
    $how acquire a:1 s
    $how acquire b:1 s
    for key in "$K" "$(lease a:1)" "$(lease b:1)"; do r pexpire "$key" 20000; done
    $how renew a:1 s 0  # of a lease that is not renewed
    for key in "$K" "$(lease a:1)"; do ttl_between "$key" 1000 20000; done
    run -0 $how renew a:1 s 0 30000
    assert_output held
    for key in "$K" "$(lease a:1)"; do ttl_between "$key" 1000 20000; done
    run -0 $how renew a:1 s 0 60000
    assert_output held
    for key in "$K" "$(lease a:1)"; do ttl_between "$key" 40000 60000; done
    ttl_between "$(lease b:1)" 1000 20000
  done
  r flushall
  acquire a:1 s 20000
  run -0 renew a:1 s 0 60000
  ttl_between "$K" 1000 20000
}

@test "renew 'lost' beside others: a lease that has ended is not brought back" {
  for how in shared "slots 3"; do
    r flushall
    $how acquire a:1 s
    $how acquire b:1 s
    r del "$(lease a:1)"
    run -0 $how renew a:1 s
    assert_line -n 0 lost
    refute_line a:1  # who is dead is left out
    assert_line b:1
    assert_equal "$(r exists "$(lease a:1)")" 0
    run -0 $how renew b:1 s
    assert_output renewed
  done
}

@test "renew 'lost' of a plain hold that a Java writer walked into: the hold is removed" {
  acquire a:1 s
  r hset "$K" mode write java:7:write 1
  run -0 renew a:1 s
  assert_line -n 0 lost
  assert_equal "$(r hgetall "$K")" $'mode\nwrite\njava:7:write\n1'
}

@test "renew 'revoked' beside others: the named holder, or every holder" {
  shared acquire a:1 s 50000
  shared acquire b:1 s
  revoke ann 0 a:1
  run -0 shared renew a:1 s 600000
  assert_output $'revoked\nann\n0'
  ttl_between "$(lease a:1)" 10000 50000
  run -0 shared renew b:1 s
  assert_output renewed
  revoke bob 0
  run -0 shared renew b:1 s
  assert_output $'revoked\nbob\n0'
  shared release a:1 s
  assert_equal "$(r hkeys "$R")" b:1
}

# --- release -------------------------------------------------------------------------------------

@test "release 'released' of readers: fields and leases go one by one, the last says '0'" {
  shared acquire a:1 s
  shared acquire b:1 s
  listen
  run -0 shared release a:1 s
  assert_line -n 0 released
  assert_equal "$(r hgetall "$K")" $'mode\nread\nb:1\n1'
  assert_equal "$(r exists "$(lease a:1)")" 0
  assert_equal "$(said)" ""
  run -0 shared release b:1 s
  assert_output released
  assert_equal "$(said)" "redisson_rwlock:$G 0"
  assert_equal "$(r keys '*')" "$T"
}

@test "release 'released' of a writer says '1', of a plain lock '0', of slots the last '0'" {
  listen
  writing acquire a:1 s
  writing release a:1 s
  assert_equal "$(said)" "redisson_rwlock:$G 1"
  assert_equal "$(r keys '*')" "$T"
  acquire a:1 s
  release a:1 s
  assert_equal "$(said)" "$C 0"
  slots 2 acquire a:1 s
  slots 2 acquire b:1 s
  slots 2 release a:1 s
  assert_equal "$(said)" ""
  slots 2 release b:1 s
  assert_equal "$(said)" "$C 0"
  assert_equal "$(r keys '*')" "$T"
}

@test "release of the longest lease: the key lasts as long as the others, and Java's writers are woken" {
  shared acquire a:1 s 100000
  shared acquire b:1 s 600000
  listen
  shared release b:1 s
  ttl_between "$K" 10000 100000
  assert_equal "$(said)" "redisson_rwlock:$G 0"
}

@test "revoke of the longest lease: the key lasts as long as the others, and Java's writers are woken" {
  shared acquire a:1 s 100000
  shared acquire b:1 s 600000
  listen
  run -0 revoke ann 1 b:1
  assert_line -n 0 deleted
  ttl_between "$K" 10000 100000
  assert_equal "$(said)" "redisson_rwlock:$G 0"
  shared acquire b:1 s 600000
  shared release b:1 s 300000
  assert_equal "$(said)" "redisson_rwlock:$G 0"
  run -0 revoke ann 0
  assert_line -n 0 revoked
  ttl_between "$K" 10000 100000
  assert_equal "$(said)" "redisson_rwlock:$G 0"
}

@test "release of one of two holds beside others: the other has the longer of both leases" {
  for how in shared "slots 3"; do
    for first in 50000 600000; do
      r flushall
      $how acquire a:1 s "$first"
      $how acquire me:2 t $((650000 - first)) a:1 s
      run -0 $how release a:1 s
      assert_output still_held
      ttl_between "$(lease a:1)" 550000 600000
      assert_equal "$(r exists "$(lease a:1 2)")" 0
      run -0 $how release a:1 t
      assert_line -n 0 released
      assert_equal "$(r keys '*')" "$T"
    done
  done
}

@test "release 'not_held' beside others: twice, by a stranger, or after the lease; no other hold changes" {
  shared acquire a:1 s
  shared acquire b:1 s
  before=$(dump_all)
  run -0 shared release c:1 s
  assert_output not_held
  run -0 shared release a:1 t
  assert_output not_held
  assert_equal "$(dump_all)" "$before"
  r del "$(lease a:1)"
  run -0 shared release a:1 s
  assert_output not_held
  run -0 shared release a:1 s
  assert_output not_held
  assert_equal "$(r hgetall "$K")" $'mode\nread\nb:1\n1'
}

@test "a refused claim behind holders beside others does not notify them" {
  for how in shared "slots 1"; do
    r flushall
    $how acquire a:1 s
    for claim in writing "slots 1"; do
      r config resetstat
      run -0 $claim acquire b:1 s
      assert_line -n 0 busy
      run -0 r info commandstats
      refute_output --regexp $'cmdstat_pexpire:[^\n]*failed_calls=0' # 6.2 tries the right in vain
    done
  done
}

@test "a dead lease leaves nothing that counts with the next one of the same claim" {
  slots 4 acquire a:1 s
  slots 4 acquire b:1 s
  slots 4 acquire me:2 t 60000 a:1 s
  slots 4 release a:1 s
  revoke ann@h 0
  r del "$(lease a:1)"
  slots 4 acquire c:1 s # in the slot of the dead
  run -0 slots 4 acquire a:1 s
  assert_line -n 0 granted
  assert_equal "$(slot c:1) $(slot a:1)" "0 2"
  assert_equal "$(r hkeys "$H" | sort | xargs)" 'a:1#s b:1#s c:1#s'
  run -0 slots 4 renew a:1 s
  assert_output renewed
  # The same where another has taken the dead out.
  revoke ann@h 0 a:1
  r del "$(lease a:1)"
  slots 4 release b:1 s
  slots 4 acquire a:1 s
  run -0 slots 4 renew a:1 s
  assert_output renewed
  r flushall
  # The same where the nested one is given back late.
  slots 4 acquire a:1 s
  slots 4 acquire b:1 s
  slots 4 acquire me:2 t 60000 a:1 s
  r del "$(lease a:1)" "$(lease a:1 2)"
  run -0 slots 4 release a:1 s
  assert_output not_held
  assert_equal "$(r hkeys "$H")" 'b:1#s'
}

@test "release 'still_held' of a write hold above a read: readers enter, after the message '1'" {
  writing acquire a:1 s 200000
  run -0 shared acquire me:2 t 50000 a:1 s
  assert_line -n 0 granted
  assert_line -n 1 a:1
  assert_equal "$(r hgetall "$K")" $'mode\nwrite\na:1:write\n1\na:1\n1'
  assert_equal "$(token a:1 t)" "$(token a:1 s)"
  ttl_between "$K" 150000 200000
  run -0 shared acquire b:1 s
  assert_line -n 0 busy
  listen
  run -0 writing release a:1 s
  assert_output still_held
  assert_equal "$(said)" "redisson_rwlock:$G 1"
  assert_equal "$(r hgetall "$K")" $'mode\nread\na:1\n1'
  run -0 shared acquire b:1 s
  assert_line -n 0 granted
  run -0 shared renew a:1 t
  assert_output renewed
  run -0 writing acquire c:1 s
  assert_line -n 0 busy
  run -0 shared release a:1 t
  assert_line -n 0 released
}

@test "release 'still_held' of a read below a write hold: the writer keeps its lease and excludes others" {
  writing acquire a:1 s 600000
  shared acquire me:2 t 50000 a:1 s
  listen
  run -0 shared release a:1 t
  assert_output still_held
  assert_equal "$(said)" ""
  assert_equal "$(r hgetall "$K")" $'mode\nwrite\na:1:write\n1'
  assert_equal "$(r exists "$(lease a:1)")" 0
  ttl_between "$K" 550000 600000
  run -0 writing renew a:1 s
  assert_output renewed
}
