#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: whoever is dead beside others costs no more than its own lease; Java's readers are others
# as well; and of very many holders a script does bounded work and tells a bounded part.
# shellcheck disable=SC2034,SC2086  # what lua.bash reads; words
load ../support/suite
suite server empty lua

setup() {
  set_up
  TTL=60000
}

# crowd COUNT [LIFE]: that many readers r:1 …, alive for LIFE ms (0: dead), with their records.
crowd() {
  r eval 'redis.call("HSET", KEYS[1], "mode", "read")
    for i = 1, ARGV[1] do
      redis.call("HSET", KEYS[1], "r:" .. i, 1)
      redis.call("HSET", KEYS[2], "r:" .. i .. "#s", "{\"token\":5,\"mode\":\"shared\",\"host\":\"h\",\"pid\":1}")
      if ARGV[2] ~= "0" then
        redis.call("SET", ARGV[3] .. ":r:" .. i .. ":rwlock_timeout:1", 1, "PX", ARGV[2])
      end
    end
    redis.call("PEXPIRE", KEYS[1], 60000)
    redis.call("PEXPIRE", KEYS[2], 60000)' 2 "$K" "$H" "$1" "${2:-600000}" "$G" >/dev/null
}

# java_reads OWNER COUNT MS: as Redisson's reader stands there.
java_reads() {
  local i
  r hset "$K" mode read "$1" "$2" >/dev/null
  for ((i = 1; i <= $2; i++)); do r set "$(lease "$1" "$i")" 1 px "$3" >/dev/null; done
  r pexpire "$K" "$3" >/dev/null
}
# --- the dead ------------------------------------------------------------------------------------

@test "a dead holder beside others takes no room for longer than its own lease" {
  shared acquire dead:1 s 600000
  shared acquire b:1 s 100000
  r del "$(lease dead:1)"
  run -0 writing acquire w:1 s
  assert_line -n 0 busy
  assert_line b:1
  refute_line dead:1
  assert_equal "$(r hkeys "$K" | xargs) $(r hkeys "$H")" "mode b:1 b:1#s"
  ttl_between "$K" 10000 100000
  r del "$(lease b:1)"
  run -0 writing acquire w:1 s
  assert_line -n 0 granted
  assert_equal "$(r hgetall "$K")" $'mode\nwrite\nw:1:write\n1'
}

@test "a dead holder's slot is given to the next, and its number only then" {
  for who in a b c; do slots 3 acquire "$who:1" s; done
  r del "$(lease b:1)"
  run -0 slots 3 acquire d:1 s
  assert_line -n 0 granted
  assert_equal "$(slot d:1)" 1
  assert_equal "$(r hkeys "$K" | xargs)" "mode a:1 c:1 d:1"
  run -0 slots 3 acquire e:1 s
  assert_line -n 0 busy
  # Also while there is room for others.
  r del "$(lease a:1)" "$(lease c:1)"
  r hdel "$K" c:1
  slots 3 acquire f:1 s
  assert_equal "$(slot f:1)" 0
}

@test "inspect {holding} of a lock with dead holders only: no holder; and it changes nothing" {
  shared acquire a:1 s
  r del "$(lease a:1)"
  before=$(dump_all)
  run -0 inspect
  assert_line -n 0 none
  assert_equal "$(dump_all)" "$before"
  run -0 revoke ann 0
  assert_line -n 0 nothing
}

@test "a hash that never expires is another program's, though a field is called mode: no claim enters" {
  for fields in "mode read path /x owner me" "mode slots:3 a:1 1" "mode read java:7 1"; do
    r flushall
    r hset "$K" $fields
    before=$(dump_all)
    for how in "" writing shared "slots 3"; do
      run -0 $how acquire a:1 s
      assert_line -n 0 busy
      run -0 $how renew a:2 s
      assert_line -n 0 lost
    done
    run -0 inspect
    assert_line -n 0 hash
    assert_line -n 1 -- -1
    assert_equal "$(dump_all)" "$before"
    assert_equal "$(r pttl "$K")" -1
  done
}

@test "many dead holders are removed in one pass, however many records there are" {
  crowd 3000 0
  work=$(calls writing acquire w:1 s)
  [ "$work" -gt 9000 ] && [ "$work" -lt 9100 ] || fail "$work commands"
  assert_equal "$(r hgetall "$K")" $'mode\nwrite\nw:1:write\n1'
  assert_equal "$(r hlen "$H")" 1
}

@test "a waiter without room gets no turn, though the one before it, which had room, is found dead" {
  writing acquire h:1 s
  shared stand dead:1 s
  writing stand_polling w:1 s
  r del "$K" "$H"
  java_reads java:7 1 60000
  life=$(r zscore "$W" "$(writing waiter w:1 s polls)")
  run -0 shared acquire x:1 s
  assert_line -n 0 busy
  assert_equal "$(busy_end "$output")" "0 0 -1 0"
  assert_equal "$(in_line)" w:1
  assert_equal "$(r zscore "$W" "$(writing waiter w:1 s polls)")" "$life"
}

# --- Java beside us -------------------------------------------------------------------------------

@test "a dlock reader beside Java's shortens no lease of others and touches no field of others" {
  java_reads java:7 2 300000
  run -0 shared acquire a:1 s
  assert_line -n 0 granted
  assert_equal "$(r hgetall "$K")" $'mode\nread\njava:7\n2\na:1\n1'
  ttl_between "$K" 200000 300000
  run -0 inspect
  assert_line -n 3 2
  run -0 writing acquire w:1 s
  assert_line -n 0 busy
  shared release a:1 s
  assert_equal "$(r hgetall "$K")" $'mode\nread\njava:7\n2'
  ttl_between "$K" 200000 300000
  # It has ended without a word, and the longest of its leases counts.
  r del "$(lease java:7 1)"
  run -0 writing acquire w:1 s
  assert_line -n 0 busy
  r del "$(lease java:7 2)"
  run -0 writing acquire w:1 s
  assert_line -n 0 granted
}

@test "behind Java's writer, and beside it, no claim enters; a Java reader hides no release" {
  r hset "$K" mode write java:7:write 1
  for how in "" writing shared "slots 2"; do
    run -0 $how acquire a:1 s
    assert_line -n 0 busy
    assert_line java:7
  done
  r flushall
  shared acquire a:1 s
  r hset "$K" java:7 1
  r set "$(lease java:7)" 1 px 30000
  r pexpire "$K" 30000  # as Redisson's watchdog does
  run -0 shared renew a:1 s
  assert_output renewed
  ttl_between "$K" 40000 60000
  run -0 shared release a:1 s
  assert_line -n 0 released
  assert_equal "$(r hgetall "$K")" $'mode\nread\njava:7\n1'
  ttl_between "$K" 1000 30000
}

# --- holding -------------------------------------------------------------------------------------

@test "inspect {holding}: every owner with its own lease, mode and number of slots" {
  shared acquire a:1 s 50000
  shared acquire b:1 s 600000
  run -0 inspect
  assert_line -n 0 hash
  [ "${lines[1]}" -gt 500000 ]
  assert_line -n 3 2
  assert_equal "${lines[*]:4:2} ${lines[*]:7:2}" "a:1 1 b:1 1"
  [ "${lines[6]}" -gt 10000 ] && [ "${lines[6]}" -le 50000 ]
  [ "${lines[9]}" -gt 500000 ] && [ "${lines[9]}" -le 600000 ]
  assert_line shared
  r flushall
  slots 7 acquire a:1 s 50000
  slots 7 acquire b:1 s 600000
  run -0 inspect
  [ "${lines[1]}" -le 50000 ]  # of slots the first that ends makes room
  assert_equal "$(printf '%s\n' "${lines[@]}" | grep -A1 -x slots | xargs)" "slots 7"
  r flushall
  writing acquire a:1 s
  shared acquire me:2 t 100000 a:1 s
  run -0 inspect
  assert_equal "${lines[*]:3:4}" "1 a:1 1 -1"
  assert_line write
}

@test "inspect {holding} of very many readers: all are counted, 64 are listed, the work is bounded" {
  for count in 65 1100 5000; do
    r flushall
    crowd "$count"
    work=$(calls inspect)
    run -0 inspect
    assert_line -n 0 hash
    assert_line -n 3 "$count"
    [ "$(grep -cE '^r:[0-9]+$' <<<"$output")" -le 64 ] || fail "too many owners"
    [ "$(grep -c '#s$' <<<"$output")" -le 64 ] || fail "too many records"
    [ "$work" -lt 1250 ] || fail "$work commands for $count"
  done
  [ "$work" -lt 30 ] || fail "$work commands for $count"
}
