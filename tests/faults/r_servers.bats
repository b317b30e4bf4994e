#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Servers that come late, are old, are cut down or belong to a cluster, lose their subscribers, or
# hold values of a size that nobody expects: dlock works, or says why not and leaves nothing.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031  # *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite cli supervise

setup_file() {
  set_up_file
  export MEMORY_KIB=300000
  ! sanitized || MEMORY_KIB=unlimited
}
start() {
  start_other "$@"
  export DLOCK_URL=$OTHER_URL
}
# calls COMMAND: how often the server has carried it out.
calls() { o info commandstats | sed -nE "s/^cmdstat_$1:calls=([0-9]+),.*/\1/p" | grep . || echo 0; }

@test "R02: a server that comes while dlock waits for it is used" {
  mkdir "$T/late"
  DLOCK_URL=redis+unix://$T/late/redis.sock dlock_run a --connect-timeout 30s -w 30 late -- touch "$MARKER"
  sleep 1
  [ ! -s "$T/a.end" ]
  assert_not_started
  start late
  ends 10s a "exit 0"
  [ -e "$MARKER" ]
  [ "$(o exists dlock:late)" = 0 ]
}

@test "R30: without EVAL it is 69 with the reason, and never a way that is not atomic" {
  start no-eval --rename-command EVAL ''
  run -69 --separate-stderr "$DLOCK" run x -- touch "$MARKER"
  assert_one_line
  assert_stderr_has EVAL
  assert_not_started
  [ "$(o dbsize)" = 0 ]
  local command
  for command in set del pexpire hset expire; do [ "$(calls "$command")" = 0 ]; done
}

@test "R32: a server that knows neither HELLO nor CLIENT is no obstacle" {
  start old --rename-command HELLO '' --rename-command CLIENT ''
  run -0 --separate-stderr "$DLOCK" run x -- "$DLOCK" inspect x
  assert_no_stderr
  [ "$(o exists dlock:x)" = 0 ]
}

@test "R35: each refusal of a cluster is 69 and says what kind of server this is" {
  local text LIMIT=200ms
  for text in 'MOVED 3999 10.0.0.1:6381' 'ASK 3999 10.0.0.1:6381' \
    'TRYAGAIN Multiple keys request during rehashing of slot' \
    "CROSSSLOT Keys in request don't hash to the same slot" 'CLUSTERDOWN The cluster is down'; do
    fake_server error "$text"
    run -69 --separate-stderr "$DLOCK" --url "redis://127.0.0.1:$FAKE_PORT" --connect-timeout "$LIMIT" \
      run x -- touch "$MARKER"
    assert_one_line
    assert_stderr_has cluster
    assert_not_started
    end_helpers
  done
  # A real node that has all slots but one: what it serves works, what it does not is refused.
  start node --port "$(free_port)" --cluster-enabled yes
  o cluster addslotsrange 0 16383
  eventually 10s cluster_ok
  run -0 "$DLOCK" run x -- true
  # Names whose keys would be in several slots.
  run -64 --separate-stderr "$DLOCK" run 'a{b' -- touch "$MARKER"
  assert_one_line
  assert_stderr_has 'the lock name "a{b" has braces that are no hash tag, so its keys would be in different slots'
  assert_not_started
  run -64 --separate-stderr "$DLOCK" run --and b a -- touch "$MARKER"
  assert_one_line
  assert_stderr_has '"a" and "b" are in different slots of this cluster ('
  assert_stderr_has 'give them a common tag, as in "{t}a" and "{t}b", or nest: dlock run a -- dlock run b -- …'
  run -64 --separate-stderr "$DLOCK" run --or b a -- touch "$MARKER"
  assert_stderr_has 'so no single step can choose one; give them a common tag, as in "{t}a" and "{t}b"; see dlock'
  assert_not_started
  run -64 "$DLOCK" inspect '}x'
  run -0 "$DLOCK" run --and '{t}b' '{t}a' -- true
  o cluster delslots "$(o cluster keyslot dlock:x)"
  o config set cluster-require-full-coverage no
  eventually 10s cluster_ok
  run -69 --separate-stderr "$DLOCK" --connect-timeout "$LIMIT" run x -- touch "$MARKER"
  assert_stderr_has cluster
  assert_not_started
}
cluster_ok() { o cluster info | grep -q cluster_state:ok; }

@test "R36: subscriptions that are cut off around the release lose no wake-up" {
  start pubsub --client-output-buffer-limit 'pubsub 1 1 1'
  local round
  for round in $(seq 20); do
    rm -f "$T/in" "$T/go"
    dlock_run a --ttl 60s cut -- sh -c 'touch "$0/in"; until [ -e "$0/go" ]; do sleep 0.01; done' "$T"
    eventually 5s test -e "$T/in"
    dlock_run b --ttl 60s cut -- true
    eventually 5s listener
    case $((round % 3)) in
      0) o client kill type pubsub && touch "$T/go" ;;
      1) touch "$T/go" && o client kill type pubsub ;;
      2) o client kill type pubsub && eventually 5s listener && touch "$T/go" ;;
    esac >/dev/null
    ends 5s a "exit 0"
    ends 15s b "exit 0"
  done
}
listener() { [ "$(o pubsub numsub 'redisson_lock__channel:{dlock:cut}' | tail -1)" = 1 ]; }

# bounded STATUS WORD…: dlock WORD… in little memory, in a few seconds, saying little.
bounded() {
  local want=$1
  shift
  run -"$want" --separate-stderr timeout -s KILL 10 bash -c 'ulimit -v "$MEMORY_KIB"; exec "$DLOCK" "$@"' - "$@"
  [ $((${#output} + ${#stderr})) -lt 20000 ]
}

@test "R37: a million fields and 300 MB under the prefix are shown and refused in bounds" {
  start huge
  o eval 'for i = 1, 1000000 do redis.call("HSET", "dlock:fields", "f" .. i, "v") end' 0
  o setrange dlock:string 299999999 x
  local name
  for name in fields string; do
    bounded 75 run -n "$name" -- touch "$MARKER"
    [[ $stderr == *"not dlock"* || $stderr == *foreign* ]]
    bounded 0 inspect "$name"
    bounded 0 inspect --json "$name"
  done
  bounded 0 list
  assert_output --partial fields
  assert_output --partial string
  assert_not_started
  [ "$(o hlen dlock:fields)" = 1000000 ]
  # The same among the notes on a lock that is free: they are in nobody's way.
  o del dlock:string
  o rename dlock:fields 'dlock:holds:{dlock:notes}'
  bounded 0 run -n notes -- true
  o eval 'for i = 1, 1000000 do redis.call("HSET", KEYS[1], "f" .. i, "v") end' 1 'dlock:holds:{dlock:notes}'
  bounded 0 inspect notes
  assert_output --partial free
  o hset dlock:notes 6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57 1
  bounded 0 inspect notes
  bounded 75 run -n notes -- touch "$MARKER"
  assert_not_started
}
