#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: doctor finds what could break the promise, names the remedy, and changes nothing.
# shellcheck disable=SC2154,SC2030,SC2031  # set by run; every test is a shell of its own
load ../support/suite
suite server cli supervise replicas sentinels cluster refused

setup_file() { set_up_file --appendonly yes --appendfsync always; }

# All keys with what is in them.
all_keys() {
  local key
  while read -r key; do
    printf '%s %s\n' "$key" "$(r --no-raw dump "$key")"
  done < <(r --raw keys '*' | sort)
}
# found LEVEL ID TEXT: a line of the output says so.
found() { grep -qE "^$1 $2 +.*$3" <<<"$output" || fail "no $1 $2 $3 in: $output"; }
# The checker of --json: every field that dlock(1) promises, and ids of its table only.
valid_json() {
  python3 -c '
import json, re, sys
d = json.load(sys.stdin)
page = open(sys.argv[1]).read().split(".SS The checks of doctor")[1].split(".SS ")[0].split(".SH ")[0]
known = set(re.findall(r"^\.TP\n\.B ([a-z]+)$", page, re.M))
assert d["version"] == 1 and isinstance(d["url"], str) and isinstance(d["ok"], bool), d
for one in d["servers"]:
    assert set(one) == {"url", "product", "version", "role", "latency_ms"}, one
for one in d["findings"]:
    assert set(one) == {"id", "level", "server", "seen", "text", "remedy"}, one
    assert one["level"] in ("error", "warning", "info", "good"), one
    assert bool(one["remedy"]) == (one["level"] in ("error", "warning")), one
    assert one["id"] in known, one
for one in d["not_seen"]:
    assert set(one) == {"id", "server", "reason"} and one["id"] in known, one
' "$PROJECT/man/dlock.1"
}

@test "a good server: 0, no warning, and every key is as it was" {
  r set other value >/dev/null
  hold "$(fresh)"
  local before
  before=$(all_keys)
  run -0 --separate-stderr "$DLOCK" doctor --strict
  assert_no_stderr
  refute_output --regexp '^[EW?] '
  [[ ${lines[-1]} =~ ^[0-9]+' good'$ ]] || fail "$output"
  found i trial 'acquire .*, renew .*, inspect .*, release '
  assert_equal "$(all_keys)" "$before"
  run -0 "$DLOCK" doctor -v "$(fresh)"
  found '\+' pubsub 'a waiter hears of its turn'
  found '\+' tracking 'a holder hears of a change'
  assert_equal "$(all_keys)" "$before"
  "$DLOCK" doctor --json | valid_json
  run -0 "$DLOCK" doctor -q
  assert_output ""
  let_go
}

@test "eviction, no AOF, failing snapshots and a timeout: each with its remedy, worst first, and 1" {
  second_redis --save '3600 1' --maxmemory 100mb --maxmemory-policy volatile-lru --timeout 60
  export DLOCK_URL=$SECOND_URL
  rm -rf "$BATS_TEST_TMPDIR/second"
  r2 set key value >/dev/null
  r2 bgsave >/dev/null
  eventually 5s failed_to_save
  run -1 "$DLOCK" doctor
  found E bgsave MISCONF
  found E trial MISCONF
  found E evict 'maxmemory-policy is volatile-lru'
  found W persist 'appendonly is no'
  found W idle 'timeout is 60'
  assert_output --partial '    CONFIG SET maxmemory-policy noeviction'
  assert_equal "$(grep -oE '^[EW] [a-z]+' <<<"$output" | xargs)" \
    "E bgsave E trial E evict W persist W idle"
  [[ ${lines[-1]} == "3 errors, 2 warnings, "*" good, 2 not seen ("* ]] || fail "${lines[-1]}"
  run -1 "$DLOCK" doctor --json
  valid_json <<<"$output"
  assert_equal "$(json 'd["ok"]' <<<"$output")" false
}
failed_to_save() { r2 info persistence | grep -q 'rdb_last_bgsave_status:err'; }

@test "a missing right: the line for ACL SETUSER; what may not be asked is not seen" {
  # shellcheck disable=SC2046  # words
  r acl setuser worker on '>sesame' resetkeys resetchannels '~dlock:*' '~{dlock:*' \
    '~redisson_lock_token:*' '&*' -@all $(sed -n 's/^ACL SETUSER dlock +/+/p' "$PROJECT/man/dlock-protocol.7") >/dev/null
  export DLOCK_URL=redis+unix://worker@$REDIS_SOCKET DLOCK_PASSWORD=sesame
  run -0 "$DLOCK" doctor
  refute_output --regexp '^[EW] '
  assert_output --regexp $'\n''\? [a-z, ]*idle, buffers [^ ]+  not seen: CONFIG GET is refused'
  [[ ${lines[-1]} == *" not seen ("*"CONFIG GET is refused"* ]] || fail "${lines[-1]}"
  r acl setuser worker -hset '-client|tracking' >/dev/null
  run -1 "$DLOCK" doctor
  found E rights 'missing rights: \+hset:'
  assert_line '    ACL SETUSER worker +hset +client|tracking'
  r acl setuser worker +hset >/dev/null
  run -0 "$DLOCK" doctor
  found W rights 'missing rights: \+client\|tracking'
  found W tracking 'no key tracking'
  run -1 "$DLOCK" doctor --strict
}

@test "a server without EVALSHA: dlock cannot work there" {
  second_redis --rename-command EVALSHA ''
  run -1 "$DLOCK" doctor --url "$SECOND_URL"
  found E scripts "unknown command 'EVALSHA'"
}

@test "a plain URL at a replica is an error, and at a master with replicas a warning" {
  start_set 1
  run -1 "$DLOCK" doctor --url "redis+unix://$T/1.sock"
  found E role 'it is a replica of 127.0.0.1:'
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
  "$DLOCK" doctor --json --url "local://$BATS_TEST_TMPDIR/locks" | valid_json
  assert_equal "$(ls "$BATS_TEST_TMPDIR/locks")" "$before"
}

# bats test_tags=nightly
@test "sentinels: a failover that a hold does not outlive, and the lease that would" {
  start_set 1
  start_sentinels 30000
  run -0 "$DLOCK" doctor
  found W failover 'a hold of 30s may end by it, --ttl 75s would outlive it'
  run -0 "$DLOCK" doctor -v --ttl 75s
  found i failover 'a hold of 1m15s outlives it'
  found '\+' sentinels '3 sentinels, of one mind'
  found '\+' topology 'found by its set'
  "$DLOCK" doctor --json | valid_json
  kill -KILL "${SENTINEL_PIDS[2]}"
  run -0 "$DLOCK" doctor
  found W sentinels 'cannot reach '
  kill -KILL "${SET_PIDS[1]}"
  eventually 5s replicas_online 0
  run -1 "$DLOCK" doctor
  found E replicas '--replicas is 1'
  kill -KILL "${SET_PIDS[0]}"
  run -1 "$DLOCK" doctor
  found E connect 'cannot reach '
}

# bats test_tags=nightly
@test "a cluster: every master and replica is looked at, and a slot that is being moved is named" {
  start_cluster "$T/cluster" 3
  OTHER_PIDS+=" ${NODE_PIDS[*]}"
  local before i
  for i in 0 1 2; do eventually 10s replica_is_online "$i"; done
  before=$(cluster_keys)
  run -0 "$DLOCK" doctor -v job
  found i cluster "slot $(slot_of job) is at redis://127.0.0.1:${NODE_PORTS[$(owner_of job)]}/0"
  assert_equal "$(grep -c '^+ role .* replica$' <<<"$output")" 3
  assert_equal "$(grep -c '^i role .* master, with 1 replica$' <<<"$output")" 3
  found '\+' topology 'found by its set'
  found i failover 'takes about 5s: a hold of 30s outlives it'
  refute_output --regexp '^[E?] '
  assert_equal "$(cluster_keys)" "$before"
  "$DLOCK" doctor --json | valid_json
  node 0 cluster setslot 93 migrating "${NODE_IDS[1]}"
  for i in 0 1 2 3 4 5; do
    node $i acl setuser worker on '>sesame' resetkeys resetchannels '~*' '&*' +@all -hset
    node $i config set maxmemory 100mb
    node $i config set maxmemory-policy volatile-lru
  done
  export DLOCK_PASSWORD=sesame DLOCK_URL=${DLOCK_URL/\/\//\/\/worker@}
  run -1 "$DLOCK" doctor job
  found W cluster 'slots are being moved: 93'
  assert_equal "$(grep -oE '^E [a-z]+' <<<"$output" | uniq | xargs)" "E rights E trial E evict"
  assert_line '    ACL SETUSER worker +hset'
}
replica_is_online() { node "$1" info replication | grep -q 'state=online'; }
cluster_keys() { local i; for i in 0 1 2; do node $i keys '*'; done; }
