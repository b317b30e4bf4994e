#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a claim is refused at its first try if a right is missing that it will need, its rights are
# looked up only then, and a right that is withdrawn later leaves no lock without an end. The grant of
# a free plain name looks up only what its renewal and release need.
load ../support/suite
suite server empty lua

needs_lookups() {
  [ "$(r eval 'return redis.acl_check_cmd and 1 or 0' 0)" = 1 ] || skip "this server knows no acl_check_cmd"
}

# lookups CALL…: how many access rights the script of this call looks up.
lookups() {
  r set lookups 0 >/dev/null
  (
    # shellcheck disable=SC2030  # only here
    export BATS_FILE_TMPDIR=$BATS_TEST_TMPDIR/counted
    mkdir -p "$BATS_FILE_TMPDIR"
    {
      echo "local server = redis"
      echo "local redis = setmetatable({acl_check_cmd = function(...)"
      echo "  server.call('INCR', 'lookups')"
      echo "  return server.acl_check_cmd(...)"
      echo "end}, {__index = server})"
      script_text acquire
    } >"$BATS_FILE_TMPDIR/acquire.$PLACE.lua"
    "$@" >/dev/null
  )
  r get lookups
}

@test "rights are probed at the first try of a claim, not while it waits, nor at the grant" {
  needs_lookups
  for way in acquire shared writing "slots 2"; do
    r flushall >/dev/null
    # shellcheck disable=SC2086  # words
    first=$(lookups ${way/acquire/} acquire h:1 s)
    if [ "$way" = acquire ]; then
      [ "$first" = 9 ] || fail "$way: $first"
      first=$(lookups acquire b:1 s)  # refused
    fi
    [ "$first" -gt 20 ] && [ "$first" -lt 30 ] || fail "$way: $first"
    for call in "stand b:1 s" "stand b:1 s"; do
      # shellcheck disable=SC2086
      assert_equal "$(lookups ${way/acquire/} $call)" 0
    done
    release h:1 s
    # shellcheck disable=SC2086
    assert_equal "$(lookups ${way/acquire/} stand b:1 s)" 0
  done
}

# like_62 CALL…: on a server that cannot be asked for rights and refuses them as Redis 6.2 does.
like_62() {
  (
    # shellcheck disable=SC2030,SC2031  # only here
    export BATS_FILE_TMPDIR=$BATS_TEST_TMPDIR/old
    mkdir -p "$BATS_FILE_TMPDIR"
    {
      echo "local server = redis"
      echo "local redis = setmetatable({acl_check_cmd = false, pcall = function(...)"
      echo "  local reply = server.pcall(...)"
      echo "  if type(reply) == 'table' and (reply.err or ''):find('permission', 1, true) then"
      echo "    return {err = \"@user_script: 1: The user executing the script can't run this command\"}"
      echo "  end"
      echo "  return reply"
      echo "end}, {__index = server})"
      script_text acquire
    } >"$BATS_FILE_TMPDIR/acquire.$PLACE.lua"
    "$@"
  )
}

# as_worker CALL…: by a user who may do everything except $WITHOUT.
as_worker() {
  # shellcheck disable=SC2086  # words
  r acl setuser worker reset on nopass '~*' '&*' +@all $WITHOUT >/dev/null
  BY=worker "$@"
}

@test "a right that is withdrawn while a claim waits leaves no lock without an end" {
  for way in acquire shared writing "slots 2"; do
    for right in set del hset pexpire pttl; do
      r flushall >/dev/null
      # shellcheck disable=SC2086
      WITHOUT=-$right run as_worker ${way/acquire/} stand b:1 s
      assert_output --regexp "can't run this command|has no permissions to run" # as of 8.0
      [ "$(r exists "$K")" = 0 ] || [ "$(r pttl "$K")" -gt 0 ] || fail "$way without $right: $(r hgetall "$K")"
    done
    # What is left of such a grant is in nobody's way.
    r flushall >/dev/null
    # shellcheck disable=SC2086
    WITHOUT=-pexpire run as_worker ${way/acquire/} stand b:1 s
    # shellcheck disable=SC2086
    run -0 ${way/acquire/} acquire c:1 s
    assert_line -n 0 granted
    assert_equal "$(r hkeys "$H")" 'c:1#s'
  done
}

@test "a missing right is named at the first try, before anything is written" {
  WITHOUT=-hdel run as_worker acquire b:1 s
  assert_output --partial "NOPERM this user may not run 'HDEL' on $H"
  assert_equal "$(r dbsize)" 0
}

@test "every command of the scripts of a claim is refused at the first try if its right is missing" {
  local right
  for right in type time pttl set del hset pexpire hget hincrby hdel exists hgetall; do
    r flushall >/dev/null
    WITHOUT=-$right run as_worker acquire b:1 s
    assert_output --partial "NOPERM this user may not run '${right^^}' on "
    only_token_without "$right"
  done
}

# Nothing is left of a refused claim; or a token, with its end, if the grant tried HSET.
only_token_without() { # RIGHT
  if [ "$1" = hset ]; then assert_equal "$(r keys '*')" "$T"; else assert_equal "$(r dbsize)" 0; fi
  if [ "$1" = hset ]; then ttl_between "$T" 1 86400000; fi
}

@test "a right that only a waiter needs is missed by a claim that would wait, at its first try" {
  local right before
  for right in get hlen hkeys zadd zrem zcard zrank zscore zrange zrangebyscore; do
    r flushall >/dev/null
    WITHOUT=-$right run -0 as_worker acquire h:1 s
    assert_line -n 0 granted
    before=$(r keys '*' | sort)
    WITHOUT=-$right run as_worker acquire b:1 s
    assert_output --partial "NOPERM this user may not run '${right^^}' on "
    assert_equal "$(r keys '*' | sort)" "$before"
    WITHOUT=-$right run -0 as_worker renew h:1 s
    assert_output renewed
    r flushall >/dev/null
    acquire h:1 s
    WITHOUT=-$right run -0 as_worker release h:1 s
    assert_output released
    acquire h:1 s
    WITHOUT=-$right run -0 as_worker release h:1 s 0 60000  # not the frequent one
    assert_output released
  done
}

@test "the list of rights has every command of the scripts of a claim, but for messages" {
  local script
  for script in acquire renew release leave revoke; do script_text "$script"; done |
    grep -oE "redis\.p?call\('[A-Z]+'" | grep -oE "[A-Z]+" | sort -u >"$BATS_TEST_TMPDIR/used"
  script_text acquire | grep -oE "may\('[A-Z]+'" | grep -oE "[A-Z]+" | sort -u >"$BATS_TEST_TMPDIR/needed"
  assert_equal "$(comm -23 "$BATS_TEST_TMPDIR"/{used,needed} | tr "\n" " ")" ""
}

@test "EVAL is a right that a claim needs: the script may be lost before the first renewal" {
  WITHOUT=-eval run as_worker acquire b:1 s
  assert_output --regexp "NOPERM .*'eval'"
}

@test "a script that is called by its SHA1 finds out that the right to EVAL is missing" {
  needs_lookups
  r acl setuser worker reset on nopass '~*' '&*' +@all -eval >/dev/null
  sha=$(r script load "$(script_text acquire)")
  keys_of lock token holds revoked line waiters 'done'
  run redis-cli -s "$REDIS_SOCKET" --no-auth-warning --user worker --pass x EVALSHA "$sha" 7 \
    "${KEYS[@]}" b:1 s 9000 "$RECORD" '' mode=plain "$G" 0
  assert_output --partial "NOPERM this user may not run 'EVAL' on this server"
  assert_equal "$(r dbsize)" 0
}

@test "a server that cannot be asked for rights (6.2) names the missing one too, and keeps no key" {
  local right
  for right in type set del hset pexpire hincrby hdel; do
    r flushall >/dev/null
    WITHOUT=-$right run like_62 as_worker acquire b:1 s
    assert_output --partial "NOPERM this user may not run '${right^^}' on "
    only_token_without "$right"
  done
  acquire h:1 s
  for right in zadd zrem zrangebyscore; do
    WITHOUT=-$right run like_62 as_worker acquire b:1 s
    assert_output --partial "NOPERM this user may not run '${right^^}' on "
  done
}

# with_role ROLE CALL…: on a server without acl_check_cmd, as Redis 6.2 and KeyDB, with this role.
with_role() {
  (
    # shellcheck disable=SC2030,SC2031  # only here
    export BATS_FILE_TMPDIR=$BATS_TEST_TMPDIR/keydb
    mkdir -p "$BATS_FILE_TMPDIR"
    {
      echo "local server = redis"
      echo "local redis = setmetatable({acl_check_cmd = false, pcall = function(command, ...)"
      echo "  if command == 'INFO' then return 'role:$1' end"
      echo "  return server.pcall(command, ...)"
      echo "end}, {__index = server})"
      script_text acquire
    } >"$BATS_FILE_TMPDIR/acquire.$PLACE.lua"
    "${@:2}"
  )
}

@test "KeyDB as an active replica, which merges two grants, refuses every claim and keeps no key" {
  local way
  for way in acquire shared "slots 2"; do
    # shellcheck disable=SC2086  # words
    run with_role active-replica ${way/acquire/} acquire b:1 s
    assert_output --partial "MULTIMASTER this KeyDB accepts writes on several masters at once"
    assert_equal "$(r dbsize)" 0
  done
  run -0 with_role master acquire b:1 s
  assert_line -n 0 granted
}

@test "a server of 6.2 whose user may not INFO grants" {
  WITHOUT=-info run -0 like_62 as_worker acquire b:1 s
  assert_line -n 0 granted
}

@test "to try a right where it cannot be asked for changes no key of a held lock" {
  local before way
  for way in acquire shared "slots 2"; do
    r flushall >/dev/null
    TTL=60000 acquire h:1 s
    stand w:1 s
    r hset "$R" someone else >/dev/null
    before=$(state)
    # shellcheck disable=SC2086  # words
    run -0 like_62 ${way/acquire/} acquire b:1 s
    assert_line -n 0 busy
    assert_equal "$(state)" "$before"
    r hdel "$R" someone >/dev/null
  done
}
state() {
  local key
  for key in $(r keys '*' | sort); do
    r dump "$key" && [ "$(r pttl "$key")" -gt 50000 ] || echo "$key is short"
  done
}
