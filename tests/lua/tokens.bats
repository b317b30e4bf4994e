#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: fencing tokens grow, whatever becomes of their key, and the key expires a day after the last
# grant, or never if another program wants that.
load ../support/suite
suite server empty lua

@test "tokens grow, also over FLUSHALL and a Java RFencedLock in between" {
  acquire o:1 s
  one=$(token o:1 s)
  release o:1 s
  acquire o:1 s2
  two=$(token o:1 s2)
  [ "$two" -gt "$one" ]
  r flushall
  acquire o:1 s3
  three=$(token o:1 s3)
  [ "$three" -gt "$two" ]
  release o:1 s3
  java=$(r incr "$T")
  [ "$java" -gt "$three" ]
  acquire o:1 s4
  [ "$(token o:1 s4)" -gt "$java" ]
}

@test "tokens grow by one where the server's clock is behind" {
  r set "$T" 8000000000000000
  acquire o:1 s
  assert_equal "$(token o:1 s)" 8000000000000001
}

@test "a token key without a TTL keeps that, one of dlock gets a day" {
  r set "$T" 5
  acquire o:1 s
  assert_equal "$(r pttl "$T")" -1
  release o:1 s
  r set "$T" 5 px 5000
  acquire o:1 s
  ttl_between "$T" 86000000 86400000
  release o:1 s
  r set "$T" 1000000000000000  # as many digits as the server's time
  acquire o:1 s
  assert_equal "$(r pttl "$T")" -1
  release o:1 s
  r set "$T" 1000000000000000 px 5000
  acquire o:1 s
  ttl_between "$T" 86000000 86400000
}

@test "the first token of a quarter of an hour gets a day, a later one then keeps its TTL" {
  quarter=8000002000000000  # in µs, and long after the server's time: so the next token is one more
  r set "$T" $((quarter - 1)) px 80000000
  acquire o:1 s
  assert_equal "$(token o:1 s)" $quarter
  ttl_between "$T" 86000000 86400000
  release o:1 s
  r pexpire "$T" 80000000
  acquire o:1 s2
  assert_equal "$(token o:1 s2)" $((quarter + 1))
  ttl_between "$T" 79000000 80000000
}
