#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A server that refuses, stalls or changes its mind while a lock is held gives no verdict: the holder
# asks again, on a fresh connection, until it is answered or the clock stops the command with 79,
# before the lease can end.
# shellcheck disable=SC2154,SC2016  # *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite ticker leases

teardown() {
  clean_up
  if mountpoint -q "$T/disk"; then umount -l "$T/disk"; fi
}

start() {
  start_other "$@"
  export DLOCK_URL=$OTHER_URL
}
# until_go WHO NAME OPTION…: a holder whose command ends with 6 when $T/go-WHO is there.
until_go() {
  local who=$1 name=$2
  shift 2
  dlock_run "$who" "$@" "$name" -- sh -c 'touch "$0.in"; until [ -e "$0" ]; do sleep 0.02; done; exit 6' \
    "$T/go-$who"
  eventually 10s test -e "$T/go-$who.in"
}
# undisturbed WHO: its command goes on to its end, and nothing is said.
undisturbed() {
  touch "$T/go-$1"
  ends 10s "$1" "exit 6"
  [ ! -s "$T/$1.err" ] || { cat "$T/$1.err"; return 1; }
}
# calls COMMAND: how often the server has carried it out.
calls() { o info commandstats | sed -nE "s/^cmdstat_${1/|/.}:calls=([0-9]+),.*/\1/p" | grep . || echo 0; }

@test "R16: snapshots that fail: 79 by the clock; ended before, its code and a warning" {
  mkdir "$T/lost"
  start unsaved --dir "$T/lost"
  hold_deaf kept
  until_go b ended --ttl 8s --connect-timeout 1s
  o config set save '1 1'
  o set k v
  rm -r "$T/lost" # with a snapshot in it, if there was time for one
  local at
  o bgsave
  eventually 10s misconf
  at=$(boot_ms)
  touch "$T/go-b"
  ends 8s b "exit 6"
  grep -q '"ended".*lease ends in' "$T/b.err"
  dead_before_the_end_of_the_lease "$at"
  eventually 9s no_locks
}
misconf() { o set k v 2>&1 | grep -q MISCONF; }
no_locks() { [ "$(o exists dlock:kept dlock:ended)" = 0 ]; }

@test "R17: a log that must reach a full disk: the server ends itself, 79 before the lease ends" {
  [ "$(id -u)" = 0 ] || skip "root is needed to mount a small disk"
  mkdir "$T/disk"
  mount -t tmpfs -o size=300k none "$T/disk"
  start always --appendonly yes --appendfsync always --dir "$T/disk"
  hold_deaf always
  dd if=/dev/zero of="$T/disk/fill" bs=1k 2>/dev/null || true
  # Whatever of the log still fits into its last block is written.
  local at i
  for i in 1 2 3 4 5 6 7 8; do
    o set k "$(printf '%01000d' "$i")" >/dev/null 2>&1 || break
  done
  at=$(boot_ms)
  eventually 5s gone "$OTHER_PID"
  dead_before_the_end_of_the_lease "$at"
}

@test "R18: without its replicas a master's silence about a lock that is gone is no verdict" {
  start lonely
  hold_deaf lonely
  local at
  printf '%s\n' multi 'del dlock:lonely' 'config set min-replicas-to-write 1' exec |
    redis-cli -s "$OTHER_SOCKET"
  at=$(boot_ms)
  [ "$(o exists dlock:lonely)" = 0 ]
  o set k v 2>&1 | grep -q NOREPLICAS
  dead_before_the_end_of_the_lease "$at"
}

@test "R20: a replica that has lost its master, at the start and while held" {
  start orphan --replica-serve-stale-data no
  hold_deaf orphan
  local at
  o replicaof 127.0.0.1 1
  at=$(boot_ms)
  o get k 2>&1 | grep -q MASTERDOWN
  run -69 --separate-stderr "$DLOCK" --connect-timeout 300ms run x -- touch "$T/started"
  [[ $stderr == *replica* ]]
  [ ! -e "$T/started" ]
  dead_before_the_end_of_the_lease "$at"
}

@test "R21: back, but still loading: unknown until it is done, and the command goes on" {
  start loading --appendonly yes
  o eval 'for i = 1, 4000 do redis.call("SET", "k" .. i, i) end' 0
  o bgrewriteaof
  eventually 10s rewritten
  until_go a loading -v --ttl 30s -k 500ms
  kill -KILL "$OTHER_PID"
  eventually 5s gone "$OTHER_PID"
  start loading --appendonly yes --key-load-delay 1100 --loading-process-events-interval-bytes 1024
  eventually 10s grep -q LOADING "$T/a.err"
  touch "$T/go-a"
  ends 25s a "exit 6"
  [ "$(o exists dlock:loading)" = 0 ]
}
rewritten() { o info persistence | grep -q 'aof_rewrite_in_progress:0'; }

@test "R22: an endless script: a short one is ridden out, a long one costs the command; not ended by us" {
  start busy --busy-reply-threshold 100
  hold_deaf busy
  until_go b busy-b --ttl 10s -k 500ms
  o eval 'while true do end' 0 >/dev/null 2>&1 3>&- &
  eventually 5s busy
  local at
  at=$(boot_ms)
  dead_before_the_end_of_the_lease "$at"
  o script kill
  eventually 5s other_answers
  undisturbed b
  [ "$(calls 'script|kill')" = 1 ]
  [ "$(calls shutdown)" = 0 ]
}
busy() { o get k 2>&1 | grep -q BUSY; }

@test "R23: a pause of the server longer than the lease: 79 within it, the next only after it" {
  local kind
  start paused
  for kind in all write; do
    hold_deaf "paused-$kind"
    dlock_run b "paused-$kind" -- "$TICKER" "$T/ticks-b" for 20
    local before at
    before=$(boot_ms)
    o client pause 4500 "$kind"
    at=$(boot_ms)
    dead_before_the_end_of_the_lease "$at"
    ends 15s b "exit 0"
    [ "$(first_tick "$T/ticks-b")" -ge $((before + 4500)) ]
    [ "$(last_tick)" -lt "$(first_tick "$T/ticks-b")" ]
    rm "$T/ticks-b"
  done
}

@test "R25: a connection lost and no slot free for another: unknown, then 79" {
  start full
  hold_deaf full
  # One client takes the only slot, hangs up on everybody else, and stays.
  python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
for words in (b"CONFIG SET maxclients 1", b"CLIENT KILL TYPE normal SKIPME yes"):
    s.sendall(words + b"\r\n"); s.recv(100)
print("there", flush=True); time.sleep(20)' "$OTHER_SOCKET" >"$T/slot" 3>&- &
  STARTED+=($!)
  eventually 5s file_has "$T/slot" there
  local at
  at=$(boot_ms)
  run ! other_answers
  dead_before_the_end_of_the_lease "$at"
  kill -KILL "${STARTED[-1]}"
}

@test "R26: a server that hangs up on idle clients disturbs no run" {
  start idle --timeout 1
  until_go a idle --ttl 6s
  sleep 4.5 # two renewals, each on a connection that was closed meanwhile
  [ "$(o info stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p')" -ge 3 ]
  undisturbed a
  [ "$(o exists dlock:idle)" = 0 ]
}

user() { o acl setuser "$1" on '>sesame' '~*' '&*' +@all; }
@test "R29: rights that change while held: what is refused is unknown, live connections go on" {
  start rights
  local name at
  for name in refused rotated deleted; do
    user "$name"
    DLOCK_URL=redis+unix://$name:sesame@$OTHER_SOCKET hold_as "$name" "$name" -v -k 200ms
  done
  o acl setuser refused -eval -evalsha
  o acl deluser deleted
  at=$(boot_ms)
  # The password is another one from now on, and the connection stays; a new one is refused.
  o acl setuser rotated resetpass '>other'
  sleep 3.2
  [ ! -s "$T/rotated.end" ]
  [ "$(o exists dlock:rotated)" = 1 ]
  dead_before_the_end_of_the_lease "$at" refused
  dead_before_the_end_of_the_lease "$at" deleted
  grep -q NOPERM "$T/refused.err"
  grep -qiE 'WRONGPASS|password' "$T/deleted.err"
  o client kill user rotated
  at=$(boot_ms)
  dead_before_the_end_of_the_lease "$at" rotated
  grep -qiE 'WRONGPASS|password' "$T/rotated.err"
  run ! grep -r sesame "$T"/*.err
  [ "$(o acl log | grep -c sesame)" = 0 ]
}
