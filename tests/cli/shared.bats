#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: readers stand beside readers only; a writer is alone, and waits for no reader that came
# after it; each reader's lease is its own.
# MODES_FULL=1: the crowd runs for a minute.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells
load ../support/suite
suite server empty section line leases modes

# beside NUMBER HELD CLAIMED STATUS: what a claim gets where somebody holds; "plain" is no option.
beside() {
  local name=table-$1 held=$2 claimed=$3
  # shellcheck disable=SC2086  # words on purpose
  enter "h$1" ${held/plain/} "$name"
  # shellcheck disable=SC2086
  run timeout 20 "$DLOCK" run -n ${claimed/plain/} "$name" -- true
  [ "$status" = "$4" ] || fail "$claimed beside $held: $status: $output"
  go "h$1"
  # shellcheck disable=SC2086
  run -0 timeout 20 "$DLOCK" run -n ${claimed/plain/} "$name" -- true
}
exclusion_table() {
  local held claimed number=0 wanted
  for held in plain -x -s '--slots 3'; do
    for claimed in plain -x -s '--slots 3'; do
      wanted=75
      [ "$held $claimed" != "-s -s" ] || wanted=0
      [ "$held $claimed" != "--slots 3 --slots 3" ] || wanted=0
      beside $((++number)) "$held" "$claimed" "$wanted"
    done
  done
  [ "$number" = 16 ]
}

@test "readers hold beside readers, slots beside slots, and every other pair excludes" { exclusion_table; }

@test "readers hold beside readers, slots beside slots, and every other pair excludes, in a directory" {
  in_a_directory
  exclusion_table
}

@test "DLOCK_MODE is the mode of the run, and an outer mode does not leak" {
  run -0 "$DLOCK" run a -- sh -c 'echo "$DLOCK_MODE"'
  assert_output plain
  run -0 "$DLOCK" run -x a -- sh -c 'echo "$DLOCK_MODE"'
  assert_output exclusive
  run -0 "$DLOCK" run -s a -- sh -c 'echo "$DLOCK_MODE ${DLOCK_SLOT-none}"'
  assert_output 'shared none'
  run -0 "$DLOCK" run --slots 2 a -- sh -c 'echo "$DLOCK_MODE $DLOCK_SLOT"'
  assert_output 'slots 0'
  run -0 "$DLOCK" run --slots 2 a -- "$DLOCK" run -s b -- sh -c 'echo "$DLOCK_MODE ${DLOCK_SLOT-none}"'
  assert_output 'shared none'
  run -0 "$DLOCK" run -s a -- "$DLOCK" run b -- sh -c 'echo "$DLOCK_MODE ${DLOCK_SLOT-none}"'
  assert_output 'plain none'
}

@test "each reader has a token of its own, larger than the one before" {
  enter a -s rw
  enter b -s rw
  enter c -s rw
  [ "$(of a DLOCK_TOKEN)" -lt "$(of b DLOCK_TOKEN)" ]
  [ "$(of b DLOCK_TOKEN)" -lt "$(of c DLOCK_TOKEN)" ]
  [ "$(of a DLOCK_OWNER)" != "$(of b DLOCK_OWNER)" ]
  go a b c
  assert_no_keys
}

@test "inspect and list show the readers" {
  enter a -s --reason 'weekly report' seen
  enter b -s seen
  enter c -s seen
  run -0 "$DLOCK" inspect seen
  assert_output --partial 'held shared by'
  assert_output --partial 'and 2 others'
  run -0 "$DLOCK" list seen
  assert_output --partial 'shared'
  "$DLOCK" inspect --json seen >"$T/json"
  [ "$(json 'd["locks"][0]["mode"]' <"$T/json")" = shared ]
  [ "$(json '[h["mode"] for h in d["locks"][0]["holds"]]' <"$T/json")" = '["shared", "shared", "shared"]' ]
  [ "$(json 'all(0 < o["lease_left_ms"] <= 30000 for o in d["locks"][0]["owners"])' <"$T/json")" = true ]
  [ "$(json 'len(d["locks"][0]["owners"])' <"$T/json")" = 3 ]
  go a b c
}

@test "first come, first served: readers together, the writer alone between them" {
  local who
  enter w -x rw
  for who in r1 r2 r3; do queue "$who" -s rw; done
  queue x -x rw
  for who in r4 r5; do queue "$who" -s rw; done
  go w
  for who in r1 r2 r3; do enters "$who"; done # all before anybody is let go
  outside x
  # A newcomer would fit beside the readers, but somebody stands.
  refused 75 'held shared .* 3 waiting' -n -s rw
  go r1 r2
  outside x
  go r3
  enters x
  outside r4 r5
  go x
  enters r4
  enters r5
  go r4 r5
  assert_no_keys
}

@test "a dead reader lets a writer in when its own lease is over, and no sooner" {
  enter a -s --ttl 3s rw
  queue w -x -w 20 rw
  kill_both a
  local over
  over=$(lease_end rw "$(of a DLOCK_OWNER)")
  enters w
  [ "$(of w DLOCK_TOKEN)" -ge "$over" ]
  [ "$(of w DLOCK_TOKEN)" -lt $((over + 5000000)) ]
  go w
  assert_no_keys
}

@test "a dead reader is out though others read on; the writer waits for these only" {
  enter long -s --ttl 60s rw
  enter dead -s --ttl 2s rw
  local owner
  owner=$(of dead DLOCK_OWNER)
  kill_both dead
  queue w -x -w 40 rw
  eventually 10s lease_over rw "$owner"
  outside w
  eventually 10s readers_are rw 1
  go long # a minute of lease is left to it, had it not ended
  enters w
  go w
}
lease_over() { [ "$(own_lease "$1" "$2")" = -2 ]; }
# As inspect sees it: a dead owner is out.
readers_are() { [ "$("$DLOCK" inspect --json "$1" | json "len([o for o in d['locks'][0]['owners'] if (o['lease_left_ms'] or 0) > 0])")" = "$2" ]; }

@test "a renewal changes the reader's own lease only: it neither shortens nor prolongs another's" {
  enter long -s --ttl 120s rw
  enter short -s --ttl 3s -k 200ms rw
  enter dead -s --ttl 20s rw
  local before after
  kill_both dead
  before=$(own_lease rw "$(of dead DLOCK_OWNER)")
  sleep 3.5 # several renewals
  [ "$(own_lease rw "$(of long DLOCK_OWNER)")" -gt 60000 ]
  [ "$(lock_ttl rw)" -gt 60000 ]
  after=$(own_lease rw "$(of dead DLOCK_OWNER)")
  [ "$after" -le $((before - 3400)) ] || fail "from $before to $after ms"
  still short long
  go short long
}

@test "a reader that ends does not shorten the leases of the other readers" {
  enter long -s --ttl 120s rw
  enter short -s --ttl 2s rw
  go short
  [ "$(lock_ttl rw)" -gt 60000 ]
  [ "$(own_lease rw "$(of long DLOCK_OWNER)")" -gt 60000 ]
  refused 75 'held shared' -n -x rw
  go long
}

@test "a reader's lease that the server forgot is lost: 79, and the other reader does not notice" {
  enter a -s --ttl 3s rw
  enter b -s --ttl 3s rw
  r hdel dlock:rw "$(of a DLOCK_OWNER)" >/dev/null
  r del "{dlock:rw}:$(of a DLOCK_OWNER):rwlock_timeout:1" >/dev/null
  ends 15s a "exit 79"
  still b
  go b
  assert_no_keys
}

@test "force-release of readers: all of them stop, and a writer enters" {
  enter a -s --ttl 3s rw
  enter b -s --ttl 3s rw
  queue w -x -w 30 rw
  run -0 timeout 30 "$DLOCK" force-release --yes rw
  ends 20s a "exit 79"
  ends 20s b "exit 79"
  enters w
  go w
}

@test "force-release of more readers than are listed waits for the last of them" {
  # 64 whose leases end soon, and behind them two whose do not.
  r eval 'redis.call("HSET", KEYS[1], "mode", "read")
    for i = 1, 66 do
      redis.call("HSET", KEYS[1], "r:" .. i, 1)
      redis.call("HSET", KEYS[2], "r:" .. i .. "#s",
        "{\"token\":5,\"mode\":\"shared\",\"host\":\"h\",\"pid\":1,\"ttl_ms\":3000}")
      redis.call("SET", ARGV[1] .. ":r:" .. i .. ":rwlock_timeout:1", 1, "PX", i > 64 and 4000 or 1000)
    end
    redis.call("PEXPIRE", KEYS[1], 4000)
    redis.call("PEXPIRE", KEYS[2], 4000)' 2 dlock:many 'dlock:holds:{dlock:many}' '{dlock:many}'
  run -0 "$DLOCK" force-release --yes many
  run -0 "$DLOCK" run -n -x many -- true
}

@test "force-release --if-token takes the lock from that reader only" {
  enter a -s --ttl 3s rw
  enter b -s --ttl 3s rw
  run timeout 30 "$DLOCK" force-release --yes --if-token "$(of a DLOCK_TOKEN)" rw
  ends 20s a "exit 79"
  sleep 1.5 # b has renewed
  still b
  go b
}

@test "a run nested in a writer may read, and reads on when the writer has ended" {
  listen
  downgrade queue
  assert_no_keys
  hear_out
  # Who waited did not just happen to ask again: dlock's reader was called, and Redisson's were.
  grep -q 'lua\] "PUBLISH" "dlock:turn:{dlock:rw}:.*" "turn"' "$T/monitor"
  grep -q 'lua\] "PUBLISH" "redisson_rwlock:{dlock:rw}" "1"' "$T/monitor"
}
@test "a run nested in a writer may read, and reads on when the writer has ended, in a directory" {
  in_a_directory
  downgrade come # there is no line to look at
}
# downgrade HOW: with somebody who waits to read, who is there by that word.
# The nested reader leaves the process group, so that the writer does not wait for it.
downgrade() {
  dlock_run w -x rw -- bash -c 'setsid "$DLOCK" run -n -s rw -- sh -c "$1" "$0/nested" >/dev/null 2>&1 &
    until [ -e "$0/nested.env" ]; do sleep 0.02; done; touch "$0/writes"; until [ -e "$0/w.go" ]; do sleep 0.02; done' \
    "$T" "$inside"
  eventually 20s test -e "$T/writes"
  [ "$(of nested DLOCK_MODE)" = shared ]
  "$1" r -s -w 30 --ttl 60s rw
  come x -n -x rw
  ends 10s x "exit 75"
  outside r
  go w # the writer is gone: who waits to read is woken, long before any lease ends
  enters r
  inside nested
  run -75 "$DLOCK" run -n -x rw -- touch "$MARKER"
  go r
  run -75 "$DLOCK" run -n rw -- touch "$MARKER"
  touch "$T/nested.go"
  run -0 timeout 30 "$DLOCK" run -w 20 -x rw -- true
  assert_not_started
}

@test "a run nested in a reader joins it, and releases only its own hold" {
  run -0 "$DLOCK" run -s rw -- sh -c 'echo "$DLOCK_TOKEN $DLOCK_OWNER"
    "$DLOCK" run -n -s rw -- sh -c "echo \"\$DLOCK_TOKEN \$DLOCK_OWNER\""
    env -u DLOCK_HOLDS "$DLOCK" run -n -x rw -- true 2>/dev/null; echo $?'
  [ "${lines[0]}" = "${lines[1]}" ]
  [ "${lines[2]}" = 75 ]
  assert_no_keys
}

@test "fifty readers and five writers: readers overlap, writers never, and none of them starves" {
  crowd readers-writers
  assert_no_keys
}

# bats test_tags=nightly
@test "a plain run is a writer to the readers, and does not starve either" {
  crowd readers-plain 6
  assert_no_keys
}

# bats test_tags=nightly
@test "readers and writers on one machine: the same without a server" {
  in_a_directory
  local -x REDIS_SOCKET=
  crowd readers-writers 6
}

# bats test_tags=nightly
@test "writers that only say they write are found out" { wrong_crowd readers-writers!; }
