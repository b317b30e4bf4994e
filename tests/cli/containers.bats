#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: containers of one host that share a folder of locks exclude each other and the host, whatever
# boot id and clock each of them sees; where only the database file is shared, none gets a lock.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise ticker
IN=$PROGRAMS/in_container.sh

setup() {
  set_up
  unshare -Tm --boottime 1 true 2>/dev/null || skip "no right to make namespaces"
}
teardown() { clean_up; }

# Each kind of place.
each_place() {
  local DLOCK_URL
  for DLOCK_URL in "sqlite://$T/locks.db" "local://$T/locks"; do
    export DLOCK_URL
    "$@"
  done
}

not_granted_in_a_container() {
  local kind
  hold a
  for kind in id clock both; do
    run -75 "$IN" "$kind" "$DLOCK" run -n a -- touch "$MARKER"
  done
  run -0 "$IN" both "$DLOCK" inspect --json a
  # A lease of 30 s, not of a day.
  python3 -c 'import json, sys; assert 0 < json.loads(sys.argv[1])["locks"][0]["lease_left_ms"] <= 30000' "$output"
  let_go
  assert_not_started
  run -0 "$IN" both "$DLOCK" run -n a -- true
}
@test "O08: a lock that the host holds is not granted in a container" { each_place not_granted_in_a_container; }

not_granted_on_the_host() {
  local kind
  for kind in id clock both; do
    rm -f "$T/in" "$T/go"
    spawn "$kind" "$IN" "$kind" "$DLOCK" run a -- sh -c 'touch "$0/in"; until [ -e "$0/go" ]; do sleep 0.02; done' "$T"
    eventually 10s test -e "$T/in"
    run -75 "$DLOCK" run -n a -- touch "$MARKER"
    run -75 "$IN" clock "$DLOCK" run -n a -- touch "$MARKER"
    touch "$T/go"
    ends 10s "$kind" "exit 0"
    run -0 "$DLOCK" run -n a -- true
  done
  assert_not_started
}
@test "O08: a lock that a container holds is not granted on the host" { each_place not_granted_on_the_host; }

# bats test_tags=nightly
@test "a lease that a container left ends at its time on the host, and waiters of both stand in one line" {
  export DLOCK_URL=sqlite://$T/locks.db
  spawn a "$IN" both "$DLOCK" run --ttl 5s a -- sh -c 'kill -KILL $(pgrep -P $PPID -x lease-guard) $PPID'
  eventually 10s ended a
  spawn b "$IN" id "$DLOCK" run -w 20 a -- sh -c 'echo b >>"$0/order"' "$T"
  eventually 10s eval '[ "$("$DLOCK" inspect --json a | jq ".locks[0].waiting")" = 1 ]'
  run -0 "$DLOCK" run -w 20 a -- sh -c 'echo host >>"$0/order"' "$T"
  ends 10s b "exit 0"
  [ "$(paste -sd ' ' "$T/order")" = "b host" ]
}

# not_kept PATH: 78, and nothing has run.
not_kept() {
  run -78 --separate-stderr "$DLOCK" --url "sqlite://$1" run a -- touch "$MARKER"
  assert_stderr_has "cannot keep locks in $1: $2"
  assert_not_started
}

@test "O09: a database file with a second name is refused, by either" {
  export DLOCK_URL=sqlite://$T/locks.db
  mkdir "$T/other"
  "$DLOCK" run a -- true
  ln -s "$T/locks.db" "$T/other/link.db"
  run -0 "$DLOCK" --url "sqlite://$T/other/link.db" run a -- "$DLOCK" inspect -q a
  ln "$T/locks.db" "$T/other/locks.db"
  for file in locks.db other/locks.db other/link.db; do
    not_kept "$T/$file" "the file has a second name (hard link)"
  done
  run -78 "$DLOCK" doctor
  rm "$T/other/locks.db"
  run -0 "$DLOCK" run a -- true
}

@test "O09: a container that mounts the database file alone gets no lock there; with its folder it does" {
  export DLOCK_URL=sqlite://$T/locks.db
  mkdir "$T/other"
  hold a
  touch "$T/other/locks.db"
  run -78 --separate-stderr unshare -m sh -c 'mount --bind "$0/locks.db" "$0/other/locks.db"
    exec "$1" --url "sqlite://$0/other/locks.db" run -n a -- touch "$2"' "$T" "$DLOCK" "$MARKER"
  assert_stderr_has "cannot keep locks in $T/other/locks.db: the file alone is mounted there"
  assert_stderr_has "mount its directory instead"
  run -75 unshare -m sh -c 'mount --bind "$0" "$0/other"
    exec "$1" --url "sqlite://$0/other/locks.db" run -n a -- touch "$2"' "$T" "$DLOCK" "$MARKER"
  let_go
  assert_not_started
}

@test "O09: where statx is refused or unknown, a file that has two paths is found all the same" {
  export DLOCK_URL=sqlite://$T/locks.db
  mkdir "$T/other"
  hold a
  touch "$T/other/locks.db"
  local error strace=(strace -f -qq -o /dev/null -e trace=statx)
  for error in EPERM ENOSYS; do
    run -78 --separate-stderr unshare -m sh -c 'mount --bind "$0/locks.db" "$0/other/locks.db"
      url=$1; shift; exec "$@" --url "sqlite://$url" run -n a -- true' "$T" "$T/other/locks.db" \
      "${strace[@]}" -e inject="statx:error=$error" "$DLOCK"
    assert_stderr_has "the file alone is mounted there"
    run -75 "${strace[@]}" -e inject="statx:error=$error" "$DLOCK" run -n a -- touch "$MARKER"
  done
  let_go
  ln "$T/locks.db" "$T/other/second.db"
  run -78 --separate-stderr "${strace[@]}" -e inject=statx:error=EPERM "$DLOCK" run a -- touch "$MARKER"
  assert_stderr_has "the file has a second name (hard link)"
  assert_not_started
}

@test "O07: a link that leads to another file frees no lock: its holder is stopped, and ends with 79" {
  ln -s "$T/one.db" "$T/link.db"
  touch "$T/one.db"
  export DLOCK_URL=sqlite://$T/link.db
  dlock_run a --ttl 2s a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  touch "$T/two.db"
  ln -sfn "$T/two.db" "$T/link.db"
  ends 10s a "exit 79"
}
