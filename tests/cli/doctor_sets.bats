#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: doctor looks at certificates and at every server of a set, waits for none that hangs, and
# what it finds can be mended in its order.
# shellcheck disable=SC2154,SC2030,SC2031  # set by run; every test is a shell of its own
load ../support/suite
suite cli supervise replicas sentinels cluster tls doctor

setup_file() {
  set_up_file
  make_ca ca
  make_certificate server ca "$HERE"
}
setup() {
  set_up
  export DLOCK_CACERT=$TLS/ca.crt
}
plain() { unset DLOCK_CACERT; }

# user_without_config COMMAND…: on the server that redis-cli COMMAND… asks, "worker" may do all but CONFIG.
user_without_config() { "$@" acl setuser worker on '>sesame' resetkeys resetchannels '~*' '&*' +@all -config >/dev/null; }
as_worker() { export DLOCK_PASSWORD=sesame DLOCK_URL=${DLOCK_URL/\/\//\/\/worker@}; }

@test "TLS: version, names and end of the certificate; W two weeks before its end, and with --insecure" {
  cp "$TLS/server.crt" "$TLS/own.crt"
  cp "$TLS/server.key" "$TLS/own.key"
  tls_redis own --appendonly yes --appendfsync always
  good_set keys_of_tls
  found i connect 'TLSv1.3, its certificate is for localhost and 127.0.0.1 and ends on 2[0-9-]+ [0-9:]+ UTC$'
  user_without_config rt
  as_worker
  refuses_config
  make_certificate ends_soon ca "$HERE" -days 13
  # As the remedy says: other files in their place, and the server reads them again.
  cp "$TLS/ends_soon.crt" "$TLS/own.crt"
  cp "$TLS/ends_soon.key" "$TLS/own.key"
  rt config set tls-cert-file "$TLS/own.crt"
  run -0 "$DLOCK" doctor
  assert_equal "$(findings)" "W connect"
  found W connect 'its certificate ends on 2[0-9-]+ [0-9:]+ UTC: from then on nothing can connect'
  valid_json 1 --strict
  plain
  run -0 "$DLOCK" doctor --insecure
  assert_equal "$(findings)" "W connect"
  found W connect '--insecure: its certificate was not verified'
}
keys_of_tls() { all_keys rt; }

# bats test_tags=nightly
@test "sentinels: a good set; a failover that a hold does not outlive, and the lease that would" {
  plain
  start_set 1
  start_sentinels 30000
  on 0 config set appendfsync always
  on 1 config set appendfsync always
  on 0 config set appendonly yes
  on 1 config set appendonly yes
  eventually 10s written_at 0
  eventually 10s written_at 1
  good_set keys_of_set --ttl 75s
  found i failover 'too few replicas are left then'
  found '\+' sentinels '3 sentinels, of one mind'
  found '\+' topology 'found by its set'
  user_without_config on 0
  user_without_config on 1
  (as_worker && refuses_config --ttl 75s)
  on 0 acl setuser worker -role -wait
  (as_worker && run -1 "$DLOCK" doctor --ttl 75s && found E rights 'missing rights: \+role \+wait')
  on 0 acl setuser worker +role +wait
  run -0 "$DLOCK" doctor
  assert_equal "$(findings)" "W failover"
  found W failover 'a hold of 30s may end by it, --ttl 75s would outlive it'
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
keys_of_set() { all_keys on 0; }
written_at() { on "$1" info persistence | grep -q 'aof_rewrite_in_progress:0'; }

# bats test_tags=nightly
@test "sentinels that name different masters: doctor warns, run asks the one that most name, and no replica" {
  plain
  start_set 1
  start_sentinels 30000
  names_the_replica 2
  run -0 "$DLOCK" doctor --ttl 75s
  found W sentinels 'they name different masters: 127.0.0.1:[0-9]+ and 127.0.0.1:[0-9]+: '
  assert_line --partial '    wait for the failover to end; a sentinel that stays behind'
  run -0 --separate-stderr "$DLOCK" run one -- true
  assert_no_stderr
  run -78 --separate-stderr "$DLOCK" doctor --url "${DLOCK_URL/mymaster/other}"
  assert_one_line
  assert_stderr_has 'the sentinels know no "other", only "mymaster"'
  # A sentinel as if it were the server.
  run -1 "$DLOCK" doctor --url "redis://127.0.0.1:${SENTINEL_PORTS[0]}"
  found E role 'it is a sentinel: it keeps no data'
  assert_line '    write redis+sentinel://HOST/NAME'
  names_the_replica 0
  names_the_replica 1
  run -1 "$DLOCK" doctor --ttl 75s
  found E connect 'as the master, but it is a replica'
  run -69 --separate-stderr "$DLOCK" run --connect-timeout 1s one -- touch "$MARKER"
  assert_stderr_has "as the master, but it is a replica"
  assert_not_started
}
# It would need a quorum of three to do something about it.
names_the_replica() {
  sentinel "$1" remove mymaster
  sentinel "$1" monitor mymaster 127.0.0.1 "${SET_PORTS[1]}" 3
}

# bats test_tags=nightly
@test "two sentinels and a replica that hang: within 10 s, and each is named" {
  plain
  start_set 1
  start_sentinels 30000
  kill -STOP "${SENTINEL_PIDS[0]}" "${SENTINEL_PIDS[1]}"
  freeze 1
  run -1 timeout -s KILL 10 "$DLOCK" doctor
  found W sentinels "no answer from redis://127.0.0.1:${SENTINEL_PORTS[0]}/0 .*; .*:${SENTINEL_PORTS[1]}/0 within"
  found E connect "no answer from redis://127.0.0.1:${SET_PORTS[1]}/0 within 1s"
  found i role 'master, with 1 replica'
  freeze 0
  run -1 timeout -s KILL 10 "$DLOCK" doctor
  found E connect "no answer from redis://127.0.0.1:${SET_PORTS[0]}/0 within"
  thaw 0
  thaw 1
}

# bats test_tags=nightly
@test "a cluster of which a master and a replica hang: within 10 s, each is named, the others are looked at" {
  plain
  start_cluster "$T/cluster" 3 --cluster-node-timeout 60000
  local i
  for i in 0 1 2; do eventually 10s replica_is_online "$i"; done
  kill -STOP "${NODE_PIDS[0]}" "${NODE_PIDS[4]}"
  run -1 timeout -s KILL 10 "$DLOCK" doctor -v "$(name_at 0)"
  found E connect "no answer from redis://127.0.0.1:${NODE_PORTS[0]}/0 within 1s"
  found E connect "no answer from redis://127.0.0.1:${NODE_PORTS[4]}/0 within 1s"
  assert_equal "$(grep -c '^i role .* master, with 1 replica$' <<<"$output")" 2
  found '\+' cluster 'all slots have a master'
  run -1 timeout -s KILL 10 "$DLOCK" doctor "$(name_at 1)"
  found i cluster "is at redis://127.0.0.1:${NODE_PORTS[1]}/0"
  found E connect "no answer from redis://127.0.0.1:${NODE_PORTS[0]}/0 within 1s"
}
# A name that this master has; node 0, which usually says so, hangs.
name_at() {
  local i slot
  for i in {1..99}; do
    slot=$(node 1 cluster keyslot "dlock:n$i")
    [ $((slot / 5461)) != "$1" ] || { echo "n$i"; return; }
  done
}
replica_is_online() { node "$1" info replication | grep -q 'state=online'; }

# bats test_tags=nightly
@test "a TLS cluster, an ACL user, volatile-lru: all that is wrong is listed, and is mended in that order" {
  NODE_CERTIFICATE=server start_cluster "$T/cluster" 3 --tls-replication yes --appendonly yes --appendfsync always
  local i remedy
  for i in 0 1 2; do eventually 10s replica_is_online "$i"; done
  for i in "${!NODE_PIDS[@]}"; do user_without_config node "$i"; done
  (as_worker && refuses_config job)
  for i in "${!NODE_PIDS[@]}"; do node "$i" acl setuser worker +@all; done
  as_worker
  good_set cluster_keys job
  found i cluster "slot $(slot_of job) is at rediss://127.0.0.1:${NODE_PORTS[$(owner_of job)]}/0"
  found i failover 'takes up to 5s: too few replicas are left then'
  found '\+' topology 'found by its set'
  assert_equal "$(grep -c '^+ role .* replica$' <<<"$output")" 3
  assert_equal "$(grep -c '^i role .* master, with 1 replica$' <<<"$output")" 3
  assert_equal "$(grep -c '^i connect .* TLSv1.3, its certificate is for localhost' <<<"$output")" 6

  node 0 cluster setslot 93 migrating "${NODE_IDS[1]}"
  for i in "${!NODE_PIDS[@]}"; do
    node "$i" config set maxmemory 100mb
    node "$i" config set maxmemory-policy volatile-lru
    node "$i" config set appendonly no
    node "$i" acl setuser worker -hset
  done
  run -1 "$DLOCK" doctor job
  assert_equal "$(findings)" "E rights E trial E evict W persist W cluster"
  found W cluster 'slots are being moved: 93'
  valid_json 1 job
  for remedy in 'ACL SETUSER' maxmemory-policy appendonly; do mend "$remedy"; done
  assert_equal "$(findings)" "W cluster"
  node 0 cluster setslot 93 stable
  good_set cluster_keys job
}
# mend TEXT: at each node what the first remedy with TEXT says; then doctor looks again, and no longer
# finds it.
mend() {
  local i line
  line=$(grep -m 1 "^    .*$1" <<<"$output") || fail "no remedy with $1: $output"
  line=${line%%[,;]*}
  # shellcheck disable=SC2086  # words
  for i in "${!NODE_PIDS[@]}"; do node "$i" $line; done
  output=$("$DLOCK" doctor job) || true
  ! grep -- "$1" <<<"$output" || fail "not mended: $output"
}
cluster_keys() { local i; for i in 0 1 2; do all_keys node "$i"; done; }
