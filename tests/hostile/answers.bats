#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: whatever a server sends, and however much, dlock ends within its limit and soon after a
# SIGTERM, with 69, below 64 MiB, and starts nothing. A row of a table in this folder is a server.
load ../support/suite
suite cli

# answers PROTOCOL ROWS: all rows of its table hold, and there are so many.
answers() {
  needs_no_sanitizer "needs more memory and time"
  run -0 python3 "$PROJECT/tests/hostile/play.py" "$1"
  [ "$(grep -c '^ok ' <<<"$output")" -ge "$2" ] || fail "$output"
}

@test "redis, also in a cluster and as a sentinel: 33 answers that are none" { answers redis 33; }
@test "postgresql: 44 answers that are none" { answers postgres 44; }
@test "mysql: 27 answers that are none" { answers mysql 27; }
@test "etcd: 26 answers that are none" { answers etcd 26; }
@test "zookeeper: 26 answers that are none" { answers zookeeper 26; }
@test "TLS, on each protocol: 25 handshakes that do not end" { answers tls 25; }
