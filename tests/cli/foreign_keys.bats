#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: what other programs keep at the keys of a lock is not touched, and costs no lock.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server cli refused

@test "a string, list, set or stream at the key is a foreign lock: busy, waited for, untouched" {
  r set dlock:string mine >/dev/null
  r rpush dlock:list a b >/dev/null
  r sadd dlock:set a >/dev/null
  r xadd dlock:stream 1-1 a b >/dev/null
  r zadd dlock:zset 1 a >/dev/null
  local kind before
  for kind in string list set stream zset; do
    before=$(r dump "dlock:$kind" | od -c)
    refused 75 run -n "$kind" -- touch "$MARKER"
    assert_stderr_has foreign
    assert_stderr_has "$kind"
    refused 75 run -w 0.3 "$kind" -- touch "$MARKER"
    refute_stderr_has WRONGTYPE
    [ "$(r dump "dlock:$kind" | od -c)" = "$before" ] || fail "$kind was touched"
    (sleep 0.3 && r del "dlock:$kind" >/dev/null) 3>&- &
    run -0 timeout 8 "$DLOCK" run -w 5 "$kind" -- true
  done
  assert_no_keys
}

@test "a foreign lock with a lease is waited for until it ends" {
  r set dlock:foreign x px 700 >/dev/null
  run -0 timeout 5 "$DLOCK" run -w 4 foreign -- true
}

@test "a hash without a lease keeps the lock, and that is said" {
  r hset dlock:eternal 6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57 1 >/dev/null
  refused 75 run -n eternal -- touch "$MARKER"
  assert_stderr_has 'without expiry'
  refused 75 run -w 0.2 eternal -- touch "$MARKER"
  [ "$(r hgetall dlock:eternal | tr '\n' ' ')" = '6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57 1 ' ]
  [ "$(r pttl dlock:eternal)" = -1 ]
  r del dlock:eternal >/dev/null
}

@test "a foreign hash is not touched, however strange" {
  r hset dlock:odd name value count -1 '' '' $'\e[2J' $'\xff' >/dev/null
  local before
  before=$(r dump dlock:odd | od -c)
  refused 75 run -n odd -- touch "$MARKER"
  refute_stderr_has $'\e'
  [ "$(r dump dlock:odd | od -c)" = "$before" ]
  r eval 'for i = 1, 100000 do redis.call("HSET", "dlock:large", "f" .. i, string.rep("v", 100)) end' 0 >/dev/null
  refused 75 run -n large -- touch "$MARKER"
  [ ${#stderr} -lt 500 ]
  run -0 --separate-stderr "$DLOCK" inspect large
  [ ${#output} -lt 20000 ]
  r del dlock:odd dlock:large >/dev/null
}

@test "R37: a huge string under the prefix is only looked at from outside" {
  r eval 'redis.call("SET", "dlock:huge", string.rep("x", 100000000))' 0 >/dev/null
  refused 75 run -n huge -- touch "$MARKER"
  run -0 bash -c 'ulimit -v "$MEMORY_KIB"; exec "$DLOCK" list'
  assert_output --partial huge
  r del dlock:huge >/dev/null
}

@test "K15: rubbish in dlock's metadata keys keeps no claim from the lock" {
  r set 'dlock:holds:{dlock:notes}' rubbish >/dev/null
  r rpush 'dlock:revoked:{dlock:notes}' rubbish >/dev/null
  run -0 --separate-stderr "$DLOCK" run -n notes -- true
  r set 'redisson_lock_token:{dlock:token}' rubbish >/dev/null
  refused 69 run -n token -- touch "$MARKER"
  assert_stderr_has 'fencing token'
  key_gone token
  r del 'redisson_lock_token:{dlock:token}' >/dev/null
}
