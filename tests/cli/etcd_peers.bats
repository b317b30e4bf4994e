#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock and etcdctl wait for each other, in the order in which they came.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise ticker line store_cases etcd

setup_file() {
  set_up_file
  start_etcd
}
setup() {
  set_up
  clean_keys
}
teardown_file() { stop_etcd; }

there() { [ "$(keys_of "$1" | wc -l)" -ge "$2" ]; }

@test "etcdctl holds: dlock waits, names the key, and runs after it" {
  etcdctl_run other k sh -c 'until [ -e "$0/go" ]; do sleep 0.02; done; touch "$0/done"' "$T"
  eventually 10s there k 1
  run -75 "$DLOCK" run -n k -- touch "$MARKER"
  assert_output "dlock: \"k\" is busy: held by a foreign lock (etcd key, $(keys_of k))" # of unknown lease
  assert_not_started
  run -0 "$DLOCK" inspect k
  assert_output --regexp "$(keys_of k)\), lease [0-9.]+m?s left"
  dlock_run a k -- test -e "$T/done"
  eventually 10s there k 2
  touch "$T/go"
  ends 10s a "exit 0"
  ends 10s other "exit 0"
}

@test "a frozen lock keeps etcdctl out, also one that waits already: until the freeze ends" {
  dlock_run a k -- sh -c 'until [ -e "$0/go" ]; do sleep 0.02; done; touch "$0/done"' "$T"
  eventually 10s there k 1
  etcdctl_run waits k sh -c 'date +%s%3N >$0/runs' "$T"
  eventually 10s there k 2
  local ends
  ends=$(($(date +%s%3N) + 3000))
  "$DLOCK" freeze --for 3s k
  touch "$T/go"
  ends 10s a "exit 0"
  run -75 "$DLOCK" run -n k -- true
  ends 20s waits "exit 0"
  [ "$(cat "$T/runs")" -ge "$ends" ]
}

@test "dlock holds: etcdctl waits, and runs after it" {
  dlock_run a k -- sh -c 'until [ -e "$0/go" ]; do sleep 0.02; done; touch "$0/done"' "$T"
  eventually 10s there k 1
  etcdctl_run other k test -e "$T/done"
  eventually 10s there k 2
  run -0 "$DLOCK" inspect -v k
  assert_output --partial "1st in line"
  assert_output --partial "etcd key k/"
  touch "$T/go"
  ends 10s other "exit 0"
  ends 10s a "exit 0"
}

@test "dlock, etcdctl, dlock, etcdctl: in this order, and their tokens grow" {
  note='epoch=$(etcdctl get --print-value-only dlock-epoch)
    echo "$0 ${DLOCK_TOKEN:-$((ETCD_LOCK_REV + epoch))}" >>"$1"'
  dlock_run hold k -- sh -c 'until [ -e "$0/go" ]; do sleep 0.02; done' "$T"
  eventually 10s there k 1
  dlock_run a k -- sh -c "$note" a "$T/order"
  eventually 10s there k 2
  etcdctl_run b k sh -c "$note" b "$T/order"
  eventually 10s there k 3
  dlock_run c k -- sh -c "$note" c "$T/order"
  eventually 10s there k 4
  etcdctl_run d k sh -c "$note" d "$T/order"
  eventually 10s there k 5
  touch "$T/go"
  for one in a b c d; do ends 10s $one "exit 0"; done
  [ "$(cut -d' ' -f1 "$T/order" | xargs)" = "a b c d" ] || fail "$(cat "$T/order")"
  cut -d' ' -f2 "$T/order" | sort -nuc || fail "$(cat "$T/order")"
}

@test "four dlocks and four etcdctl add to one number: none is lost" {
  local i k pids=() pid
  add='read n <"$0"; echo $((n + 1)) >"$0"'
  echo 0 >"$T/count"
  for ((i = 0; i < 4; i++)); do
    (for ((k = 0; k < 10; k++)); do "$DLOCK" run -q -w 60 n -- sh -c "$add" "$T/count" || exit; done) 3>&- &
    pids+=($!)
    (for ((k = 0; k < 10; k++)); do etcdctl lock n -- sh -c "$add" "$T/count" || exit; done) >/dev/null 3>&- &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
  assert_equal "$(cat "$T/count")" 80
}

@test "a lock is not that of a name that begins like it; to etcdctl it is" {
  etcdctl_run other team/job sh -c 'until [ -e "$0/go" ]; do sleep 0.02; done' "$T"
  eventually 10s there team/job 1
  run -0 "$DLOCK" run -n team -- true
  touch "$T/go"
  ends 10s other "exit 0"
  dlock_run a team/job -- sh -c 'until [ -e "$0/stop" ]; do sleep 0.02; done' "$T"
  eventually 10s there team/job 1
  etcdctl_run below team true
  eventually 10s there team 2
  run -0 "$DLOCK" inspect team/job
  assert_output --partial "held by"
  [ ! -s "$T/below.end" ]
  touch "$T/stop"
  ends 10s below "exit 0"
}

@test "a foreign holder is ended only by force-release --now, and is never passed over" {
  etcdctl_run other k sh -c 'until [ -e "$0/go" ]; do sleep 0.02; done' "$T"
  eventually 10s there k 1
  run -75 "$DLOCK" run -w 3s k -- touch "$MARKER"
  assert_not_started
  run "$DLOCK" force-release --yes k
  there k 1
  run -0 "$DLOCK" force-release --yes --now k
  no_keys k
  run -0 "$DLOCK" run -n k -- true
  touch "$T/go"
}
