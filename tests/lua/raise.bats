#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: at a server of a quorum a hold gets the token and the time that a majority agreed on, and
# no later grant has a smaller token.
# shellcheck disable=SC2034  # what lua.bash reads
load ../support/suite
suite server empty lua

# raise OWNER SERIAL TOKEN [SINCE]
raise() { run_script raise 2 "$H" "$T" "$2" "$1" "$3" "${4:-1700000000000}"; }

@test "raise 'raised': record and token key have the larger token; leases and TTLs stay" {
  acquire o:1 s 20000
  larger=$(($(r get "$T") + 1000000))
  run -0 raise o:1 s "$larger"
  assert_output raised
  assert_equal "$(token o:1 s)" "$larger"
  assert_equal "$(r get "$T")" "$larger"
  assert_regex "$(r hget "$H" 'o:1#s')" '"since_ms":1700000000000,.*"pid":1}$'
  ttl_between "$K" 10000 20000
  records_between "$H" 10000 20000
  ttl_between "$T" 86000000 86400000
  run_script release 6 "$K" "$H" "$R" "$L" "$W" "$D" s 0 '' 0 o:1 "$G" 0
  acquire o:2 t
  [ "$(token o:2 t)" -gt "$larger" ]
}

@test "raise 'raised': a smaller token is recorded, and the key of tokens does not go back" {
  acquire o:1 s
  stored=$(r get "$T")
  run -0 raise o:1 s 17
  assert_output raised
  assert_equal "$(token o:1 s)" 17
  assert_equal "$(r get "$T")" "$stored"
}

# The server's time in µs and so much more.
in_us() { echo $(($(r time | paste -sd ' ' | awk '{printf "%d%06d", $1, $2}') + $1)); }

is_granted_as_proposed() {
  r flushall >/dev/null
  PROPOSED=$(in_us 200000)
  acquire o:1 s
  [ "$(token o:1 s) $(r get "$T")" = "$PROPOSED $PROPOSED" ]
}

@test "acquire: a proposed token is granted if it is close to the server's time and larger than the last" {
  local ahead
  # The script must run within 450 ms after the time was asked.
  eventually 10s is_granted_as_proposed
  for ahead in -10000000 10000000; do
    r flushall >/dev/null
    PROPOSED=$(in_us "$ahead")
    acquire o:1 s
    [ "$(token o:1 s)" != "$PROPOSED" ]
    [ "$(token o:1 s)" -le "$(in_us 0)" ]
    [ "$(token o:1 s)" -gt "$(in_us -10000000)" ]
  done
  r del "$K" >/dev/null
  r set "$T" 1999999999999999 >/dev/null
  acquire o:2 t
  assert_equal "$(token o:2 t)" 2000000000000000
}

@test "raise 'lost': without a record of the hold nothing is changed" {
  acquire o:1 s
  before=$(r hgetall "$H") stored=$(r get "$T")
  run -0 raise o:1 other $((stored + 5))
  assert_output lost
  run -0 raise o:2 s $((stored + 5))
  assert_output lost
  assert_equal "$(r hgetall "$H")" "$before"
  assert_equal "$(r get "$T")" "$stored"
  r flushall >/dev/null
  run -0 raise o:1 s "$stored"
  assert_output lost
  assert_equal "$(r dbsize)" 0
}

@test "raise: several names, all or none" {
  NAMES=(n m)
  acquire o:1 s
  H2='dlock:holds:{dlock:m}' T2='redisson_lock_token:{dlock:m}'
  larger=$(($(r get "$T") + 1000000))
  run -0 run_script raise 4 "$H" "$T" "$H2" "$T2" s o:1 "$larger" 1 o:1 $((larger + 1)) 2
  assert_output raised
  assert_equal "$(r get "$T") $(r get "$T2")" "$larger $((larger + 1))"
  r hdel "$H2" 'o:1#s'
  run -0 run_script raise 4 "$H" "$T" "$H2" "$T2" s o:1 $((larger + 9)) 1 o:1 $((larger + 9)) 2
  assert_output lost
  assert_equal "$(r get "$T")" "$larger"
}
