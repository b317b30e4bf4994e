#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: several names are held all or none, whatever the order in which callers name them; each has
# its token; the loss of one is the loss of all.
# MODES_FULL=1: the crowds run for a minute.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells
load ../support/suite
suite server empty section line modes

lists() {
  enter x --and a --and b c
  [ "$(of x DLOCK_NAME)" = "c a b" ]
  [ "$(of x DLOCK_MODE)" = plain ]
  [ "$(of x DLOCK_TOKEN | wc -w)" = 3 ]
  [ "$(of x DLOCK_OWNER | wc -w)" = 3 ]
  for name in a b c; do
    run -75 "$DLOCK" run -n "$name" -- touch "$MARKER"
  done
  go x
  for name in a b c; do
    run -0 "$DLOCK" run -n "$name" -- true
  done
  assert_not_started
}
@test "all of them are held; the command gets names, owners and tokens in the order of the call" {
  lists
  assert_no_keys
}
@test "all of them are held; names, owners and tokens in the order of the call, in a directory" {
  in_a_directory
  lists
}

@test "each name has its own token, and it grows" {
  enter x --and b a
  local tokens
  read -ra tokens <<<"$(of x DLOCK_TOKEN)"
  [ "${tokens[0]}" = "$(r get 'redisson_lock_token:{dlock:a}')" ]
  [ "${tokens[1]}" = "$(r get 'redisson_lock_token:{dlock:b}')" ]
  go x
  run -0 "$DLOCK" run b -- sh -c 'echo "$DLOCK_TOKEN"'
  [ "$output" -gt "${tokens[1]}" ]
}

@test "DLOCK_HOLDS has an entry for each: a nested run of any of them joins" {
  run -0 "$DLOCK" run --and b --and c a -- sh -c 'for name in c a b; do "$DLOCK" run -n $name -- sh -c "echo \$DLOCK_NAME"; done
    "$DLOCK" run -n --and a b -- sh -c "echo \$DLOCK_NAME \$DLOCK_TOKEN"; echo $DLOCK_TOKEN
    "$DLOCK" run -n --and a d -- sh -c "echo \$DLOCK_NAME"
    env -u DLOCK_HOLDS "$DLOCK" run -n b -- true 2>/dev/null || echo $?'
  [ "${lines[*]:0:3}" = "c a b" ]
  local inner outer
  read -ra inner <<<"${lines[3]}"
  read -ra outer <<<"${lines[4]}"
  [ "${inner[*]}" = "b a ${outer[1]} ${outer[0]}" ]
  [ "${lines[5]}" = "d a" ]
  [ "${lines[6]}" = 75 ]
  assert_no_keys
}

@test "the same name twice counts once" {
  run -0 "$DLOCK" run --and b --and a a -- sh -c 'echo "$DLOCK_NAME"; redis-cli -s "$REDIS_SOCKET" hvals dlock:a'
  [ "${lines[0]}" = "a b" ]
  [ "${lines[1]}" = 1 ]
  run -0 "$DLOCK" run --and a a -- sh -c 'echo "$DLOCK_NAME"'
  assert_output a
  assert_no_keys
}

@test "blanks and percent signs in names are encoded in a list, and only there" {
  run -0 "$DLOCK" run --and '100%' 'my lock' -- sh -c 'echo "$DLOCK_NAME"'
  assert_output 'my%20lock 100%25'
  run -0 "$DLOCK" run 'my lock' -- sh -c 'echo "$DLOCK_NAME"'
  assert_output 'my lock'
}

@test "up to sixteen names, and some of them may begin with -" {
  local more=()
  mapfile -t more < <(printf -- '--and\n-n%s\n' {1..16})
  run -0 "$DLOCK" run "${more[@]:0:30}" -- -n -- sh -c 'echo "$DLOCK_NAME" | wc -w; printf "%s\n" "${DLOCK_NAME%% *}"'
  assert_output $'16\n-n'
  refused 64 16 "${more[@]}" n
  assert_no_keys
}

@test "the old spelling of two names takes one lock, runs nothing and says how to write it: 127" {
  run -127 --separate-stderr "$DLOCK" run --ttl 60s account-7 account-9 -- touch "$MARKER"
  assert_one_line
  assert_stderr_has '"account-9": command not found; for a second lock write --and account-9'
  assert_not_started
  assert_no_keys
}

one_is_busy() {
  enter h b
  refused 75 '"b"' -n --and b --and c a
  refused 75 '"b"' -n --and a b
  run -0 "$DLOCK" run -n --and c a -- true
  go h
}
@test "-n with one of them busy says which, and takes none" {
  one_is_busy
  assert_no_keys
}
@test "-n with one of them busy says which, and takes none, in a directory" {
  in_a_directory
  one_is_busy
}

@test "a free name is reserved for a waiter that still waits for another name" {
  enter h b
  queue w -w 60 --and b a
  # Nobody holds it, and it is the turn of the one in line.
  [ "$(r exists dlock:a)" = 0 ]
  run -75 "$DLOCK" run -n a -- touch "$MARKER"
  queue late -w 60 a
  sleep 1.5 # longer than anybody has for his turn
  outside w late
  [ "$(r exists dlock:a)" = 0 ]
  go h
  enters w
  outside late
  go w
  enters late
  go late
  assert_no_keys
  assert_not_started
}

@test "a waiter that gives up leaves all lines, and the next ones are admitted" {
  enter h b
  queue w --and b a
  queue next -w 60 a
  kill -TERM "$w_pid"
  ends 10s w "signal 15"
  enters next
  in_line_are a 0
  in_line_are b 0
  go next h
  assert_no_keys
}

@test "a waiter says which name it waits for, and the holder of that" {
  enter h --reason 'weekly report' b
  queue w -w 60 --and a --and b c
  eventually 10s grep -q "\"b\".*pid $h_pid.*weekly report" "$T/w.err"
  go h
  enters w
  go w
}

# lost_one COMMAND…: it takes b away from a run of a, b and c.
lost_one() {
  enter x --ttl 3s --and b --and c a
  "$@"
  ends 20s x "exit 79"
  grep -q 'lost "b": .*; stopping' "$T/x.err" || fail "not said which: $(cat "$T/x.err")"
  # What was still ours is given back, at once and not by the end of a lease.
  is_free a || fail "a: $(r hgetall dlock:a)"
  is_free c || fail "c: $(r hgetall dlock:c)"
}
@test "one of them is deleted: the command is stopped, 79, the others are free" {
  lost_one r del dlock:b
  assert_free b
}
@test "one of them is another's: the command is stopped, 79, the other's lock is untouched" {
  lost_one r eval 'redis.call("del", KEYS[1]) redis.call("hset", KEYS[1], "other:1", 3) redis.call("pexpire", KEYS[1], 60000)' 1 dlock:b
  [ "$(r hgetall dlock:b)" = $'other:1\n3' ]
  r del dlock:b
}
@test "one of them is deleted under --on-lost warn: the warning names that one" {
  enter x --ttl 3s --on-lost warn --and b --and c a
  r del dlock:b
  eventually 10s grep -q 'lost "b": .*; the command runs on' "$T/x.err"
  go x
}
@test "one of them is revoked: the command is stopped, 79, all are free" {
  enter x --ttl 3s --and b --and c a
  run -0 timeout 30 "$DLOCK" force-release --yes b
  ends 20s x "exit 79"
  grep -q '^dlock: "b" was revoked by ' "$T/x.err" || fail "not said which: $(cat "$T/x.err")"
  eventually 10s is_free a
  eventually 10s is_free b
  eventually 10s is_free c
}

@test "all of them are renewed by one command" {
  enter x --ttl 3s -k 200ms --and={b,c,d,e,f,g,h} a
  r config resetstat >/dev/null
  sleep 3.5
  local sent
  sent=$(commands_since_reset)
  echo "# eight names, three renewals due: $sent commands" >&3
  [ "$sent" -le 10 ]
  [ "$sent" -ge 2 ]
  still x
  for name in a b c d e f g h; do [ "$(lock_ttl "$name")" -gt 0 ]; done
  go x
  assert_no_keys
}

@test "the locks of one that is killed are all free after the lease" {
  enter x --ttl 2s --and b a
  come w -w 30 --and a b
  kill -KILL "$x_pid"
  enters w
  go w
  assert_no_keys
}

@test "several names are held shared or in slots as one is" {
  enter r1 -s --and b a
  enter r2 -s --and c b
  [ "$(of r1 DLOCK_MODE)" = shared ]
  refused 75 '"(a|c)"' -n -x --and a c
  go r1 r2
  enter s1 --slots 2 --and b a
  enter s2 --slots 2 b
  enter s3 --slots 2 --and a c
  [ "$(of s1 DLOCK_SLOT)" = "0 0" ]
  [ "$(of s2 DLOCK_SLOT)" = 1 ]
  [ "$(of s3 DLOCK_SLOT)" = "0 1" ]
  go s1 s2 s3
  assert_no_keys
}

@test "twenty for a and b against twenty for b and a: no deadlock, never one of both" {
  crowd pairs
  assert_no_keys
}
# bats test_tags=nightly
@test "the same beside runs that want only one of the names" {
  crowd pairs-singles
  assert_no_keys
}
@test "a and b against b and a on one machine: the same without a server" {
  in_a_directory
  local -x REDIS_SOCKET=
  crowd pairs-singles 6
}
# bats test_tags=nightly
@test "a run that takes the names one by one is found by the check" { wrong_crowd pairs!; }

@test "a crowd of plain runs: one at a time, first come first served" { crowd plain 4; }
# bats test_tags=nightly
@test "a crowd without any lock is found out" { wrong_crowd plain!; }
