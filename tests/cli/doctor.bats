#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: doctor finds what could break the promise, names the remedy, and changes nothing.
# shellcheck disable=SC2154,SC2030,SC2031  # set by run; every test is a shell of its own
load ../support/suite
suite server cli supervise replicas refused doctor

setup_file() { set_up_file --appendonly yes --appendfsync always; }

@test "a good server: 0, no warning, and every key is as it was" {
  r set other value >/dev/null
  hold "$(fresh)"
  good_set keys_here
  good_set keys_here "$(fresh)"
  found '\+' pubsub 'a waiter hears of its turn'
  found '\+' tracking 'a holder hears of a change'
  run -0 "$DLOCK" doctor -q
  assert_output ""
  let_go
}
keys_here() { all_keys r; }

@test "one answer that comes late keeps no clock from being compared" {
  run -0 strace -f -qq -o "$BATS_TEST_TMPDIR/sent" -s 100 -e trace=sendto -e signal=none \
    -e inject=sendto:delay_exit=200000:when=2 "$DLOCK" doctor -v
  found '\+' clock 'runs like'
  run -0 sed -n '2s/.*\(TIME\).*/\1/p' "$BATS_TEST_TMPDIR/sent" # the first that counts was late
  assert_output TIME
}

@test "eviction, no AOF, failing snapshots and a timeout: each with its remedy, worst first, and 1" {
  second_redis --maxmemory 100mb --maxmemory-policy volatile-lru --timeout 60
  export DLOCK_URL=$SECOND_URL
  rm -rf "$BATS_TEST_TMPDIR/second"
  r2 config set save '3600 1' >/dev/null
  r2 set key value >/dev/null
  r2 bgsave >/dev/null
  eventually 5s failed_to_save
  run -1 "$DLOCK" doctor
  found E bgsave MISCONF
  found E trial MISCONF
  found E evict 'maxmemory-policy is volatile-lru'
  found W persist 'appendonly is no'
  found W idle 'timeout is 60'
  assert_line --partial '    free space on its disk, or mend its rights'
  assert_line --partial '    CONFIG SET maxmemory-policy noeviction'
  assert_line --partial '    CONFIG SET appendonly yes'
  assert_line --partial '    CONFIG SET timeout 0'
  assert_equal "$(findings)" "E bgsave E trial E evict W persist W idle"
  [[ ${lines[-1]} == "3 errors, 2 warnings, "*" good, "?" not seen ("* ]] || fail "${lines[-1]}"
  valid_json 1
}
failed_to_save() { r2 info persistence | grep -q 'rdb_last_bgsave_status:err'; }

@test "a missing right: the line for ACL SETUSER; what may not be asked is not seen" {
  # shellcheck disable=SC2046  # words
  r acl setuser worker on '>sesame' resetkeys resetchannels '~dlock:*' '~{dlock:*' \
    '~redisson_lock_token:*' '&*' -@all $(sed -n 's/^ACL SETUSER dlock +/+/p' "$PROJECT/man/dlock-protocol.7") >/dev/null
  export DLOCK_URL=redis+unix://worker@$REDIS_SOCKET DLOCK_PASSWORD=sesame
  refuses_config
  r acl setuser worker -hset >/dev/null
  run -1 "$DLOCK" doctor
  found E trial 'acquire: .* NOPERM|acquire: .* the rights needed'
  tells_rights || skip "this server cannot be asked for rights (before Redis 7)"
  r acl setuser worker '-client|tracking' >/dev/null
  run -1 "$DLOCK" doctor
  found E rights 'missing rights: \+hset:'
  assert_line '    ACL SETUSER worker +hset +client|tracking'
  valid_json 1
  r acl setuser worker +hset >/dev/null
  run -0 "$DLOCK" doctor
  found W rights 'missing rights: \+client\|tracking'
  found W tracking 'no key tracking'
  run -1 "$DLOCK" doctor --strict
}

@test "a user that may lock some names only: doctor NAME sees all, and without a NAME no right is an error" {
  # shellcheck disable=SC2046
  r acl setuser worker on '>sesame' resetkeys resetchannels '~dlock:app-*' '~{dlock:app-*' '~dlock:*:{dlock:app-*' \
    '~redisson_lock_token:{dlock:app-*' '&*' -@all $(sed -n 's/^ACL SETUSER dlock +/+/p' "$PROJECT/man/dlock-protocol.7") >/dev/null
  as_worker() { DLOCK_URL="redis+unix://worker:sesame@$REDIS_SOCKET" "$DLOCK" "$@"; }
  run -0 as_worker doctor app-job
  assert_output --partial "acquire"
  refute_line --regexp '^\? (rights|trial)'
  run -0 as_worker doctor
  assert_line --regexp '^\? trial .*dlock doctor NAME'
  assert_line --regexp '^\? rights .*dlock doctor NAME'
}

@test "a server without EVALSHA: dlock cannot work there" {
  second_redis --rename-command EVALSHA ''
  run -1 "$DLOCK" doctor --url "$SECOND_URL"
  found E scripts 'unknown command .EVALSHA'
  assert_line '    allow EVALSHA and EVAL under these names, or use another server'
  valid_json 1 --url "$SECOND_URL"
}

@test "a plain URL at a replica is an error, and at a master with replicas a warning" {
  start_set 1
  run -1 "$DLOCK" doctor --url "redis+unix://$T/1.sock"
  found E role 'it is a replica of 127.0.0.1:'
  assert_line '    let the URL name its master, or its sentinels (redis+sentinel://HOST/NAME)'
  valid_json 1 --url "redis+unix://$T/1.sock"
  run -0 "$DLOCK" doctor
  found W topology 'it has 1 replica: '
  found W minrepl 'min-replicas-to-write is 0'
  run -0 "$DLOCK" doctor -v
  found '\+' role 'replica'
  run -1 "$DLOCK" doctor --replicas 2
  found E replicas '1 of 1 replica online, --replicas is 2'
  run -0 "$DLOCK" doctor -v --replicas 1
  found '\+' minrepl 'waits for all of them'
}

@test "where nothing can be looked at: 69, 77, 78, 64, one line" {
  refused 69 doctor --url "redis+unix://$BATS_TEST_TMPDIR/none.sock"
  r acl setuser worker on '>sesame' >/dev/null
  DLOCK_PASSWORD=wrong refused 77 doctor --url "redis+unix://worker@$REDIS_SOCKET"
  DLOCK_URL=nonsense refused 78 doctor
  refused 64 doctor --url nonsense
  refused 64 doctor a b
}

@test "local://: the directory, its file system and this machine; nothing is left there" {
  run -0 "$DLOCK" doctor -v --url "local://$BATS_TEST_TMPDIR/locks"
  found i directory "$BATS_TEST_TMPDIR/locks has mode 0700"
  found '\+' filesystem ''
  found i trial 'acquire .*, release '
  assert_output --regexp '. local +this machine '
  [ ! -e "$BATS_TEST_TMPDIR/locks" ]
  run -0 "$DLOCK" run --url "local://$BATS_TEST_TMPDIR/locks" a -- true
  local before
  before=$(ls "$BATS_TEST_TMPDIR/locks")
  valid_json 0 --url "local://$BATS_TEST_TMPDIR/locks"
  assert_equal "$(ls "$BATS_TEST_TMPDIR/locks")" "$before"
}

@test "TERM during the trial: dlock ends by it, and nothing of the trial is left" {
  local before status=0 pid
  before=$(keys_here)
  start_proxy
  proxy late 1 '"command":"dlock' 1000
  "$DLOCK" doctor --url "$PROXY_URL" >"$T/out" 2>&1 3>&- &
  pid=$!
  eventually 5s grep -q '^-- ' "$PROXY_LOG"
  kill -TERM "$pid"
  wait "$pid" || status=$?
  assert_equal "$status" 143
  assert_equal "$(keys_here)" "$before"
}

@test "redis+cluster:// at a server that is no node of a cluster: an error, and what to write" {
  start_proxy
  export DLOCK_URL=${PROXY_URL/redis:/redis+cluster:}
  run -1 "$DLOCK" doctor
  found E cluster 'is no node of a cluster'
  assert_line '    write redis://HOST'
  run -69 --separate-stderr "$DLOCK" run x -- touch "$MARKER"
  assert_one_line
  assert_stderr_has '(it is no cluster node; is it redis:// ?)'
}

# bats test_tags=nightly
@test "a server that hangs ends doctor within 10 s: at once, and while it is looked at" {
  second_redis
  kill -STOP "$SECOND_PID"
  timeout -s KILL 10 "$DLOCK" doctor --connect-timeout 1m --url "$SECOND_URL" 2>"$T/hangs" 3>&- &
  local at_once=$! status=0
  start_proxy
  proxy drop 1 SLOWLOG blackhole
  run -1 timeout -s KILL 10 "$DLOCK" doctor --url "$PROXY_URL"
  found i version '(Redis|Valkey) '
  found '\?' slow 'not seen: SLOWLOG had no answer in time'
  found E trial 'acquire: no answer from '
  wait "$at_once" || status=$?
  assert_equal "$status" 69
  run -0 cat "$T/hangs"
  assert_output --partial "dlock: no answer from $SECOND_URL?db=0 within "
}

@test "the identity is the same by every way to a store, and of no other store" {
  local port word
  port=$(free_port)
  r config set port "$port" >/dev/null
  word=$(identity)
  [[ $word =~ ^[0-9a-f]{12}$ ]]
  assert_equal "$(identity --url "redis://127.0.0.1:$port")" "$word"
  assert_equal "$(identity --url "redis://localhost:$port/0")" "$word"
  [ "$(identity --url "redis://localhost:$port/1")" != "$word" ]
  [ "$(identity --prefix other:)" != "$word" ]
  second_redis
  [[ $(identity --url "$SECOND_URL") =~ ^[0-9a-f]{12}$ ]]
  [ "$(identity --url "$SECOND_URL")" != "$word" ]
  run -0 "$DLOCK" doctor
  assert_line "identity: $word: must be the same on every host that shares these locks"
  r config set port 0 >/dev/null
}

@test "the identity of a server that does not tell it is not seen, and why" {
  second_redis --rename-command INFO ''
  run "$DLOCK" doctor --url "$SECOND_URL"
  assert_line --partial 'identity: not seen: INFO'
  [ -z "$(identity --url "$SECOND_URL")" ]
}
