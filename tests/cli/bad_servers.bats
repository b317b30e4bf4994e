#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: whatever answers in place of a Redis in good health, dlock says so in one line, ends with
# the documented status in time and in bounds, starts nothing and leaves nothing.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server cli refused

setup_file() { set_up_file --busy-reply-threshold 100; }
teardown() {
  clean_up
  [ -z "${OTHER_FOLDERS:-}" ] || rm -rf "$OTHER_FOLDERS"
}

@test "R01: nothing listens: 69, naming the address" {
  local port
  port=$(free_port)
  try_run 69 --url "redis://127.0.0.1:$port"
  assert_stderr_has "127.0.0.1:$port"
  assert_stderr_has refused
  try_run 69 --url "redis://[::1]:$port"
  try_run 69 --url "redis+unix://$BATS_TEST_TMPDIR/none.sock"
  assert_stderr_has none.sock
  for command in 'inspect x' list 'force-release --yes x'; do
    # shellcheck disable=SC2086  # several words
    refused 69 --connect-timeout 500ms --url "redis://127.0.0.1:$port" $command
  done
}

@test "R01: a store that does not answer is reported after a second, once, but not with -q" {
  local port
  port=$(free_port)
  export DLOCK_URL=redis://:sesame@127.0.0.1:$port
  run -69 --separate-stderr "$DLOCK" --connect-timeout 3s run x -- touch "$MARKER"
  [[ $stderr =~ ^"dlock: cannot reach redis://127.0.0.1:$port/0: connection refused; retrying for "[12]s$'\n'"dlock: cannot acquire"[^$'\n']*$ ]] ||
    fail "$stderr"
  refute_stderr_has sesame
  assert_not_started
  run -69 --separate-stderr "$DLOCK" -q --connect-timeout 2s run x -- touch "$MARKER"
  assert_one_line
  fake_server silent
  DLOCK_URL=redis://127.0.0.1:$FAKE_PORT run -69 --separate-stderr "$DLOCK" --connect-timeout 2s run -n x -- true
  [[ $stderr == "dlock: no answer from redis://127.0.0.1:$FAKE_PORT/0; retrying for 1s"$'\n'* ]] || fail "$stderr"
}

@test "R01: the default address is said to be one, with the ways on" {
  unset DLOCK_URL
  redis-cli -t 1 ping >/dev/null 2>&1 && skip "there is a Redis at the default address"
  try_run 69
  assert_stderr_has 127.0.0.1:6379
  assert_stderr_has DLOCK_URL=redis://
  assert_stderr_has sqlite:///var/lib/dlock/dlock.db
}

@test "N13: a name that cannot be resolved: 69 within the limit" {
  try_run 69 --url redis://no-such-host.invalid
  assert_stderr_has no-such-host.invalid
  try_run 69 --url redis://no-such-host.invalid --prefix p
}

@test "R02: nothing listens and -w waits: 69, not 75" {
  local port
  port=$(free_port)
  refused 69 --url "redis://127.0.0.1:$port" --connect-timeout 500ms run -w 3 x -- touch "$MARKER"
  # With -n at once.
  refused 69 --url "redis://127.0.0.1:$port" --connect-timeout 60s run -n x -- touch "$MARKER"
  refused 69 --url "redis+unix://$BATS_TEST_TMPDIR/none.sock" --connect-timeout 60s run -n x -- touch "$MARKER"
  refused 69 --url "redis://127.0.0.1:$port" --connect-timeout 60s wait -n x
  # Connecting counts.
  refused 69 --url "redis://127.0.0.1:$port" --connect-timeout 60s run -w 1 x -- touch "$MARKER"
}

@test "R33: a server that accepts and never answers: 69 within the limit" {
  fake_server silent
  try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
  assert_stderr_has "127.0.0.1:$FAKE_PORT"
  refused 69 --connect-timeout 500ms --url "redis://127.0.0.1:$FAKE_PORT" list
  DLOCK_URL=redis://:secret@127.0.0.1:$FAKE_PORT/3 refused 69 --connect-timeout 500ms inspect x
}

@test "R33: a server that answers garbage: 69" {
  fake_server garbage
  try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
  refute_stderr_has $'\a'
  refused 69 --connect-timeout 500ms --url "redis://127.0.0.1:$FAKE_PORT" list
}

@test "R33: a web server, a TLS server: 69" {
  fake_server http
  try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
  end_helpers
  fake_server tls
  try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
}

@test "R33: a bulk of 512 MB, an array of two thousand million, arrays without end in each other: 69" {
  for mode in huge-bulk huge-array nested negative; do
    fake_server "$mode"
    try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
    refused 69 --connect-timeout 500ms --url "redis://127.0.0.1:$FAKE_PORT" list
    end_helpers
  done
}

@test "R33: a server that closes or resets in the middle of a reply: 69" {
  for mode in close reset; do
    fake_server "$mode"
    try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
    end_helpers
  done
}

@test "R34: a reply of one byte a second: 69 within the limit of the call" {
  fake_server drip
  try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
}

@test "an error to every command: 69, in the server's words and ours" {
  fake_server error 'ERR the disk is on fire'
  try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
  assert_stderr_has 'the disk is on fire'
  end_helpers
  fake_server error $'ERR \e[31mred\a'
  try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
  refute_stderr_has $'\e'
  end_helpers
  fake_server error 'ERR unknown command `EVALSHA`, with args beginning with: '
  try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
  end_helpers
  fake_server error "NOSCRIPT No matching script."
  try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
}

@test "R20 R35: an error with a meaning has its own exit status" {
  local -a texts=('MISCONF Redis is configured to save RDB snapshots' 'NOREPLICAS Not enough good replicas to write.'
    'CLUSTERDOWN Hash slot not served' 'MASTERDOWN Link with MASTER is down' 'MOVED 1 10.0.0.1:6379' 'ERR max number of clients reached'
    'TRYAGAIN Multiple keys request during rehashing of slot' 'OOM command not allowed when used memory')
  local text
  for text in "${texts[@]}"; do
    fake_server error "$text"
    try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
    assert_stderr_has "${text%% *}"
    end_helpers
  done
  for text in 'NOAUTH Authentication required.' 'WRONGPASS invalid username-password pair or user is disabled.' \
    "NOPERM this user has no permissions to run the 'evalsha' command" 'DENIED Redis is running in protected mode' \
    "NOPERM User x has no permissions to run the 'evalsha' command"; do
    fake_server error "$text"
    try_run 77 --url "redis://127.0.0.1:$FAKE_PORT"
    end_helpers
  done
}

@test "a KeyDB with several masters: 78; undeclared keys refused: 69, and what cannot be kept there" {
  fake_server error 'MULTIMASTER this KeyDB accepts writes on several masters at once'
  try_run 78 --url "redis://127.0.0.1:$FAKE_PORT"
  assert_stderr_has 'is a KeyDB that accepts writes on several masters at once, so it cannot exclude other clients'
  end_helpers
  fake_server error 'ERR Error running script (call to c5d6): @user_script:8: script tried accessing undeclared key, key: k'
  try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
  assert_stderr_has 'undeclared key, key: k (this server allows scripts only the keys that are named; readers and slots cannot be kept there)'
}

@test "R21: LOADING is waited for within the limit, then 69" {
  fake_server loading
  try_run 69 --url "redis://127.0.0.1:$FAKE_PORT"
  assert_stderr_has LOADING
}

@test "R21: a server that still loads is used when it is ready" {
  second_redis
  r2 eval 'for i = 1, 4000 do redis.call("SET", "k" .. i, i) end' 0 >/dev/null
  r2 config set save '' >/dev/null
  r2 save >/dev/null
  kill -KILL "$SECOND_PID"
  wait "$SECOND_PID" || true
  redis-server --port 0 --unixsocket "$SECOND_SOCKET" --save '' --dir "$BATS_TEST_TMPDIR/second" \
    --key-load-delay 300 --loading-process-events-interval-bytes 1024 >/dev/null 2>&1 3>&- &
  SECOND_PID=$!
  eventually 10s loading
  run -0 "$DLOCK" --url "$SECOND_URL" --connect-timeout 10s run x -- true
}
loading() { redis-cli -s "$SECOND_SOCKET" get k1 2>&1 | grep -q LOADING; }

busy() { r get x 2>&1 | grep -q BUSY; }
@test "R22: an endless script (BUSY): 69, and dlock ends no script" {
  r eval 'while true do end' 0 >/dev/null 2>&1 3>&- &
  eventually 10s busy
  try_run 69
  assert_stderr_has BUSY
  busy
  r script kill
  eventually 10s redis_answers
  run -0 "$DLOCK" run x -- true
}

@test "R22: a short endless script is waited for within the limit" {
  r eval 'while true do end' 0 >/dev/null 2>&1 3>&- &
  eventually 10s busy
  (sleep 1 && r script kill >/dev/null) 3>&- &
  run -0 "$DLOCK" --connect-timeout 8s run x -- true
}

@test "R15: out of memory (OOM): 69, and nothing half-written; a hold that is there is kept and released" {
  second_redis
  hold kept --url "$SECOND_URL" --ttl 4s -k 200ms
  r2 config set maxmemory-policy noeviction >/dev/null
  r2 config set maxmemory 1 >/dev/null
  try_run 69 --url "$SECOND_URL"
  assert_stderr_has OOM
  refute_stderr_has user_script
  [ "$(r2 exists dlock:x 'dlock:holds:{dlock:x}' 'redisson_lock_token:{dlock:x}')" = 0 ]
  sleep 1.5 # a renewal
  let_go
  [ "$(r2 exists dlock:kept)" = 0 ]
}

@test "R19: a replica (READONLY): 69, saying that it is one" {
  second_redis --replicaof 127.0.0.1 1
  try_run 69 --url "$SECOND_URL"
  assert_stderr_has replica
}

@test "R16: a master whose snapshots fail (MISCONF): 69, in its words" {
  second_redis
  r2 config set dir "$BATS_TEST_TMPDIR/second" >/dev/null
  r2 config set save '1 1' >/dev/null
  r2 set k v >/dev/null
  rm -r "$BATS_TEST_TMPDIR/second"
  r2 bgsave >/dev/null
  eventually 10s misconf
  try_run 69 --url "$SECOND_URL"
  assert_stderr_has MISCONF
  [ "$(r2 exists dlock:x)" = 0 ]
}
misconf() { r2 set k v 2>&1 | grep -q MISCONF; }

@test "R18: a master that lacks its replicas (NOREPLICAS): 69, in its words" {
  second_redis --min-replicas-to-write 1
  try_run 69 --url "$SECOND_URL"
  assert_stderr_has NOREPLICAS
}

@test "R35: a cluster node that serves nothing: 69" {
  second_redis --port "$(free_port)" --cluster-enabled yes
  try_run 69 --url "$SECOND_URL"
  assert_stderr_has cluster
}

@test "R31: an emptied script cache (NOSCRIPT) is filled again, between runs and while holding" {
  r script flush >/dev/null
  run -0 --separate-stderr "$DLOCK" run "$(fresh)" -- true
  assert_no_stderr
  run -0 --separate-stderr "$DLOCK" run --ttl 4s -k 200ms "$(fresh)" -- sh -c '
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21; do redis-cli -s "$REDIS_SOCKET" script flush >/dev/null; sleep 0.2; done'
  assert_no_stderr
  key_gone "$(fresh)"
}

@test "R27: no password, a wrong one, an unknown user: 77" {
  second_redis --requirepass sesame
  try_run 77 --url "$SECOND_URL"
  assert_stderr_has "$SECOND_URL?db=0 needs a password: set DLOCK_PASSWORD or give --password-file"
  for command in 'inspect x' list 'force-release --yes x'; do
    # shellcheck disable=SC2086  # several words
    refused 77 --url "$SECOND_URL" $command
    assert_stderr_has "$SECOND_URL?db=0 needs a password: set DLOCK_PASSWORD or give --password-file"
  done
  DLOCK_PASSWORD=wrong try_run 77 --url "$SECOND_URL"
  refute_stderr_has wrong
  DLOCK_URL=redis+unix://nobody:sesame@$SECOND_SOCKET try_run 77
  DLOCK_URL=redis+unix://:sesame@$SECOND_SOCKET run -0 "$DLOCK" run x -- true
}

@test "a password for a server that wants none is refused with 77 or not needed" {
  # Redis answers AUTH of the default user without a password with an error: it may be the wrong server.
  DLOCK_PASSWORD=sesame run --separate-stderr "$DLOCK" run x -- touch "$MARKER"
  [ "$status" = 77 ]
  assert_one_line
  assert_not_started
}

@test "a database that does not exist: 69, naming it" {
  try_run 69 --url "$DLOCK_URL?db=99"
  assert_stderr_has 99
}

@test "R25: no free slot at the server: 69" {
  second_redis --maxclients 1
  # One stays connected, once it has got in, and with it no slot is left.
  python3 -c 'import socket, sys, time
while True:
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
    try:
        s.sendall(b"PING\r\n")
        if s.recv(5) == b"+PONG": break
    except OSError: pass
    time.sleep(0.02)
time.sleep(60)' "$SECOND_SOCKET" >/dev/null 2>&1 3>&- &
  local first=$!
  eventually 10s full
  try_run 69 --url "$SECOND_URL"
  kill "$first" 2>/dev/null || true
}
full() { redis-cli -s "$SECOND_SOCKET" ping 2>&1 | grep -qE 'max number|reset'; }

@test "P15: with too few descriptors: 125 before anything is taken, or it works" {
  local limit worked=0 refused=0
  for limit in 3 4 5 6 7 8 9 10 11 12 13 14 16 20; do
    rm -f "$MARKER"
    run --separate-stderr bash -c 'exec 3>&- 4>&-; ulimit -n "$1"
      (exec "$DLOCK" run x -- touch "$MARKER"); rc=$?
      if [ "$rc" = 127 ]; then exit 99; fi; exit "$rc"' - "$limit"
    case $status in
      0)
        worked=1
        assert_no_stderr
        ;;
      125 | 69)
        refused=1
        assert_one_line
        assert_not_started
        ;;
      99) ;; # the loader found no room for a library
      *) fail "$limit descriptors: $status $stderr" ;;
    esac
    key_gone x
  done
  [ "$worked$refused" = 11 ]
  assert_no_keys
}

@test "P11: where no process can be started: 125, and nothing is left (needs to switch the user)" {
  [ "$(id -u)" = 0 ] || skip "root is needed to become a user without processes"
  # Outside the folders of the suite, which are closed to other users.
  local folder limit statuses=''
  folder=$(mktemp -d)
  OTHER_FOLDERS=$folder
  chmod 1777 "$folder"
  install -m 755 "$DLOCK" "$folder/dlock"
  export DLOCK_URL=local://$folder/locks MARKER=$folder/started
  mkdir -m 700 "$folder/locks"
  chown 54321:54321 "$folder/locks"
  local as_user=(setpriv --reuid 54321 --regid 54321 --clear-groups)
  for limit in 1 2 3 4 5; do
    run --separate-stderr "${as_user[@]}" prlimit --nproc="$limit" "$folder/dlock" run --ttl 60s x -- touch "$MARKER"
    statuses+="$status "
    run -1 "${as_user[@]}" "$folder/dlock" inspect -q x
    [ ! -e "$MARKER" ] || break
    assert_one_line
  done
  [[ $statuses =~ ^(125 )+0\ $ ]] || fail "$statuses"
}
