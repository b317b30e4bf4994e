# SPDX-License-Identifier: MIT
# For the suites that share locks in a private ZooKeeper. Loaded after interop.bash.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154  # inner shells; for interop.bash

setup_file() {
  set_up_file
  start_zookeeper 1 4lw.commands.whitelist=srvr,dump
  start_client "127.0.0.1:$(port_of 0)"
  DLOCK_URL+=/team/locks
  [ "$INTEROP_CLIENT" != kazoo ] || DLOCK_URL+='?layout=kazoo'
}
setup() {
  bats_load_library bats-support
  bats_load_library bats-assert
  set_up
  K=team/locks/$N
}
teardown_file() {
  end_driver "$BATS_FILE_TMPDIR/client"
  stop_zookeeper
}

# nodes: of those who hold $N or wait for it, in the order in which they came. The server lists all
# nodes that go with a session.
nodes() {
  local line
  exec 5<>"/dev/tcp/127.0.0.1/$(port_of 0)"
  printf dump >&5
  while read -r line; do
    [[ $line != "/$K/"* ]] || echo "${line: -10} ${line##*/}"
  done <&5 | sort | cut -d ' ' -f 2
  exec 5>&-
}
there() { [ "$(nodes | wc -l)" -ge "$1" ]; }
nothing_left() { [ -z "$(nodes)" ] || fail "left: $(nodes)"; }

# dlock_stands NAME [OPTION…], they_stand ACTOR VERB: one more waiter behind all that are there. The
# command of such a dlock notes when it began.
dlock_stands() {
  local before
  before=$(nodes | wc -l)
  dlock_run "$@" "$N" -- sh -c 'date +%s%6N >"$0"' "$T/$1.began"
  eventually 10s there $((before + 1))
}
they_stand() {
  local before
  before=$(nodes | wc -l)
  tell "$1" "$2" "$K" 0
  eventually 10s there $((before + 1))
}
began() { cat "$T/$1.began"; }
