#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: each script does what its header says, alone on a real server. Every answer a header
# names is in the name of a test; see headers.bats. What concerns the line is in line.bats.
# shellcheck disable=SC2034  # what lua.bash reads
load ../support/suite
suite server empty lua

setup() {
  set_up
  TTL=60000
}

@test "acquire 'granted': a free lock gets hash, record and TTLs, and a token" {
  run -0 acquire o:1 s
  assert_line -n 0 granted
  assert_line -n 1 o:1
  assert_equal "$(r hgetall "$K")" $'o:1\n1'
  ttl_between "$K" 50000 60000
  records_between "$H" 50000 60000
  ttl_between "$T" 86000000 86400000
  assert_equal "$(r exists "$R")" 0
  assert_regex "$(r hget "$H" 'o:1#s')" '^\{"token":[0-9]{16},"since_ms":[0-9]{13},"host":"h","pid":1\}$'
  assert_equal "$(token o:1 s)" "$(r get "$T")"
}

@test "acquire 'granted' again: the same serial counts nothing twice and keeps its token" {
  first=$(acquire o:1 s)
  r pexpire "$K" 5000
  assert_equal "$(acquire o:1 s)" "$first"
  assert_equal "$(r hget "$K" o:1)" 1
  assert_equal "$(r hlen "$H")" 1
  ttl_between "$K" 50000 60000
  records_between "$H" 50000 60000
}

@test "acquire 'granted' again never shortens a lease" {
  acquire o:1 s 60000
  acquire o:1 s 1000
  ttl_between "$K" 50000 60000
}

# For WAIT (--replicas), which counts by the newest write of its connection.
@test "acquire 'granted' again always writes, and the same, also where no lease is made longer" {
  acquire o:1 s 60000
  before=$(r hgetall "$H") writes=$(dirty)
  acquire o:1 s 1000
  [ "$(dirty)" -gt "$writes" ]
  assert_equal "$(r hgetall "$H")" "$before"
}
dirty() { r info persistence | tr -d '\r' | sed -n 's/^rdb_changes_since_last_save://p'; }

@test "acquire 'granted' clears the fields of a dead lease" {
  r hset "$H" 'dead#x' '{}'
  r hset "$R" dead x
  run -0 acquire o:1 s
  assert_line -n 0 granted
  assert_equal "$(r hlen "$H")" 1
  assert_equal "$(r exists "$R")" 0
}

@test "acquire 'granted' to a nested run: joins an ancestor's hold with its token, and again the same" {
  acquire o:1 s
  run -0 acquire me:2 t 200000 o:1 s
  assert_line -n 0 granted
  assert_line -n 1 o:1
  assert_equal "$(r hgetall "$K")" $'o:1\n2'
  assert_equal "$(token o:1 t)" "$(token o:1 s)"
  ttl_between "$K" 150000 200000
  first=$output
  assert_equal "$(acquire me:2 t 20000 o:1 s)" "$first"
  assert_equal "$(r hget "$K" o:1)" 2
}

@test "acquire 'granted' to a nested run does not believe a forged ancestor" {
  acquire o:1 s
  run -0 acquire me:2 t 10000 o:1 wrong
  assert_line -n 0 busy
  run -0 acquire me:2 t 10000 other:9 s
  assert_line -n 0 busy
}

@test "acquire 'busy': names the holder and changes nothing" {
  acquire o:1 s
  before=$(dump_all)
  run -0 acquire me:2 t
  assert_line -n 0 busy
  assert_line -n 1 hash
  assert_line 'o:1#s'
  assert_equal "$(dump_all)" "$before"
}

@test "acquire 'busy' where the key has another type, never WRONGTYPE" {
  for kind in string list set zset stream; do
    r flushall
    case $kind in
      string) r set "$K" x ;;
      list) r rpush "$K" x ;;
      set) r sadd "$K" x ;;
      zset) r zadd "$K" 1 x ;;
      stream) r xadd "$K" '*' a b ;;
    esac
    before=$(dump_all)
    run -0 acquire me:2 t
    assert_line -n 0 busy
    assert_line -n 1 "$kind"
    refute_output --partial WRONGTYPE
    run -0 renew me:2 t
    assert_line -n 0 lost
    run -0 release me:2 t
    assert_output not_held
    run -0 inspect
    assert_line -n 0 "$kind"
    run -0 revoke ann 0
    assert_line -n 0 not_dlock
    assert_equal "$(dump_all)" "$before"
  done
}

@test "acquire that fails early writes nothing" {
  for bad in abc -5 9007199254740991; do
    r flushall
    r set "$T" "$bad"
    before=$(dump_all)
    run acquire o:1 s
    assert_output --partial 'is not a usable number'
    assert_equal "$(dump_all)" "$before"
  done
  r flushall
  r rpush "$T" x
  before=$(dump_all)
  run acquire o:1 s
  assert_output --partial WRONGTYPE
  assert_equal "$(dump_all)" "$before"
}

@test "renew 'renewed': both keys last from now, never shorter" {
  acquire o:1 s 5000
  run -0 renew o:1 s 20000
  assert_output renewed
  ttl_between "$K" 15000 20000
  records_between "$H" 15000 20000
  run -0 renew o:1 s 1000
  assert_output renewed
  ttl_between "$K" 10000 20000
  records_between "$H" 10000 20000
}

@test "renew 'renewed' restores a TTL that another program removed" {
  acquire o:1 s
  r persist "$K"
  run -0 renew o:1 s
  # PTTL -1 is less than any ttl.
  ttl_between "$K" 50000 60000
}

# Otherwise a renewal at the end of a lease would extend a hold that has no record.
@test "the records outlast their lock, however it was taken, renewed or kept" {
  outlast='return redis.call("PTTL", KEYS[1]) - redis.call("PTTL", KEYS[2])'
  for way in "" writing shared "slots 2"; do
    for action in "acquire o:1 s" "acquire o:1 s 70000" "renew o:1 s 80000" "release o:1 s 5000"; do
      # shellcheck disable=SC2086  # split on purpose
      $way $action
      more=$(r eval "$outlast" 2 "$H" "$K")
      if [ "$more" -lt 500 ]; then fail "$way $action: the records end $more ms after the lock"; fi
    done
    r flushall
  done
}

@test "renew, as a late copy, brings no released hold back" {
  acquire o:1 s
  acquire me:2 t 10000 o:1 s
  release o:1 t
  run -0 renew o:1 t
  assert_equal "$(r hkeys "$H")" 'o:1#s'
  assert_equal "$(r hget "$K" o:1)" 1
  release o:1 s
  run -0 renew o:1 s
  assert_line -n 0 lost
  run -0 r keys '*'
  assert_output "$T"
}

@test "renew 'held': a check changes no lease" {
  acquire o:1 s 50000
  before=$(dump_all)
  run -0 renew o:1 s 0
  assert_output held
  ttl_between "$K" 30000 50000
  records_between "$H" 30000 50000
  assert_equal "$(dump_all)" "$before"
  r persist "$K"
  run -0 renew o:1 s 0
  assert_output held
  assert_equal "$(r pttl "$K")" -1
}

@test "renew keeps the record of its hold as it is" {
  acquire o:1 s
  before=$(r hgetall "$H")
  renew o:1 s
  assert_equal "$(r hgetall "$H")" "$before"
}

@test "renew 'revoked': names the revoker and leaves the lease as it is" {
  acquire o:1 s 50000
  revoke ann@h 0
  run -0 renew o:1 s 60000
  assert_line -n 0 revoked
  assert_line -n 1 ann@h
  ttl_between "$K" 30000 50000
}

@test "renew 'lost': another's lock, or a free one; nothing is created or changed" {
  run -0 renew o:1 s
  assert_line -n 0 lost
  assert_line -n 1 none
  assert_equal "$(r dbsize)" 0
  acquire b:2 t
  before=$(dump_all)
  run -0 renew o:1 s
  assert_line -n 0 lost
  assert_line 'b:2#t'
  assert_equal "$(dump_all)" "$before"
}

@test "release 'released': the lock is gone, waiters get one message" {
  acquire o:1 s
  mkfifo "$BATS_TEST_TMPDIR/told"
  timeout 10 redis-cli -s "$REDIS_SOCKET" subscribe "$C" >"$BATS_TEST_TMPDIR/heard" 3>&- &
  eventually 5s grep -q subscribe "$BATS_TEST_TMPDIR/heard"
  run -0 release o:1 s
  assert_output released
  eventually 5s grep -qx 0 "$BATS_TEST_TMPDIR/heard"
  kill $!
  run -0 r keys '*'
  assert_output "$T"
}

@test "release 'still_held': a nested hold and its ancestor are released one by one" {
  acquire o:1 s
  acquire me:2 t 10000 o:1 s
  run -0 release o:1 t
  assert_output still_held
  assert_equal "$(r hget "$K" o:1)" 1
  run -0 release o:1 s
  assert_line -n 0 released
}

@test "release 'not_held': twice, or by another, or a free lock; changes nothing" {
  run -0 release o:1 s
  assert_output not_held
  acquire o:1 s
  before=$(dump_all)
  run -0 release o:1 other
  assert_output not_held
  run -0 release b:2 s
  assert_output not_held
  assert_equal "$(dump_all)" "$before"
  release o:1 s
  run -0 release o:1 s
  assert_output not_held
}

@test "release of a hold whose lock another has taken is no release, though its record exists" {
  acquire o:1 s
  r del "$K"
  r hset "$K" java:57 1
  run -0 release o:1 s
  assert_line -n 0 not_held
  [ "$(r hgetall "$K")" = $'java:57\n1' ]
}

@test "release leaves foreign fields in the hash untouched" {
  acquire o:1 s
  r hset "$K" java:7 3
  run -0 release o:1 s
  assert_line -n 0 released
  assert_equal "$(r hgetall "$K")" $'java:7\n3'
  ttl_between "$K" 30000 60000
}

@test "inspect {holding}: free, held, and bounded with many fields" {
  run -0 inspect
  assert_line -n 0 none
  acquire o:1 s
  before=$(dump_all)
  run -0 inspect
  assert_line -n 0 hash
  assert_line o:1
  assert_line 'o:1#s'
  assert_equal "$(dump_all)" "$before"
  for i in $(seq 100); do echo "hset $K f$i 1"; done | r >/dev/null
  run -0 inspect
  assert_line -n 3 101
  [ "${#lines[@]}" -lt 220 ]
}

@test "revoke 'nothing': the lock was free" {
  run -0 revoke ann 0
  assert_line -n 0 nothing
  run -0 revoke ann 1
  assert_line -n 0 nothing
  assert_equal "$(r dbsize)" 0
}

@test "revoke 'other_holder': the lock has another owner or token; changes nothing" {
  acquire o:1 s
  before=$(dump_all)
  for now in 0 1; do
    run -0 revoke ann "$now" b:2
    assert_line -n 0 other_holder
    run -0 revoke ann "$now" '' 17
    assert_line -n 0 other_holder
    run -0 revoke ann "$now" o:1 17
    assert_line -n 0 other_holder
  done
  assert_equal "$(dump_all)" "$before"
}

@test "revoke 'not_dlock': a Java holder ignores revocation; changes nothing" {
  r hset "$K" java:7 1
  before=$(dump_all)
  run -0 revoke ann 0
  assert_line -n 0 not_dlock
  assert_equal "$(dump_all)" "$before"
}

@test "revoke 'revoked': with the holder's own TTL, also with the right owner and token" {
  acquire o:1 s 50000
  run -0 revoke ann@h 0 o:1 "$(token o:1 s)"
  assert_line -n 0 revoked
  assert_equal "$(r hgetall "$R")" $'o:1\nann@h'
  ttl_between "$R" 30000 50000
  ttl_between "$K" 30000 50000
  run -0 inspect
  assert_line ann@h
  # Nobody nests into what is being given up.
  run -0 acquire me:2 t 10000 o:1 s
  assert_line -n 0 busy
  release o:1 s
  assert_equal "$(r exists "$R")" 0
}

@test "revoke 'deleted': all keys of the lock are gone, waiters get a message, the token stays" {
  acquire o:1 s
  revoke ann 0
  run -0 revoke ann 1
  assert_line -n 0 deleted
  run -0 r keys '*'
  assert_output "$T"
  for make in "set $K x" "hset $K java:7 1"; do
    # shellcheck disable=SC2086
    r $make
    run -0 revoke ann 1
    assert_line -n 0 deleted
    assert_equal "$(r exists "$K")" 0
  done
}
