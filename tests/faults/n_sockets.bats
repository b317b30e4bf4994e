#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Stores that are reached by a path: a socket that is gone or not permitted, a directory whose
# holders die without a word, and one that other machines may see.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031  # *_pid come from spawn; '…' is for inner shells

load ../support/suite
suite ticker leases

teardown() {
  clean_up
  [ -z "${FOLDER:-}" ] || rm -rf "$FOLDER"
}

@test "N15: the socket is gone: 69; what holds already goes on" {
  start_other path
  export DLOCK_URL=$OTHER_URL
  dlock_run a --ttl 4s -k 200ms path -- sh -c 'touch "$0.in"; until [ -e "$0" ]; do sleep 0.02; done; exit 6' "$T/go"
  eventually 5s test -e "$T/go.in"
  mv "$OTHER_SOCKET" "$OTHER_SOCKET.away"
  run -69 --separate-stderr "$DLOCK" --connect-timeout 300ms run other -- touch "$T/started"
  [[ $stderr == *redis.sock* ]]
  [ ! -e "$T/started" ]
  sleep 4.5 # longer than the lease
  mv "$OTHER_SOCKET.away" "$OTHER_SOCKET"
  [ "$(o exists dlock:path)" = 1 ]
  touch "$T/go"
  ends 5s a "exit 6"
  [ ! -s "$T/a.err" ]
  [ "$(o exists dlock:path)" = 0 ]
}

@test "N15: the socket is not for us: 77" {
  [ "$(id -u)" = 0 ] || skip "root is needed to become another user"
  # Outside the folders of the suite, which are closed to other users.
  FOLDER=$(mktemp -d)
  chmod 755 "$FOLDER"
  install -m 755 "$DLOCK" "$FOLDER/dlock"
  start_other denied
  chmod 600 "$OTHER_SOCKET"
  mv "$OTHER_SOCKET" "$FOLDER/redis.sock"
  run -77 --separate-stderr setpriv --reuid 54321 --regid 54321 --clear-groups \
    env DLOCK_URL="redis+unix://$FOLDER/redis.sock" "$FOLDER/dlock" run x -- touch "$T/started"
  [[ $stderr == *redis.sock*"ermission denied"* ]]
  [ ! -e "$T/started" ]
}

@test "O05: local: dlock and its guard are killed: others wait for the lease, not for the command" {
  export DLOCK_URL=local://$T/locks
  dlock_run a --ttl 2s left -- "$TICKER" "$TICKS" fork
  eventually 5s ticking
  local guard
  guard=$(eventually 10s pgrep -P "$a_pid" -x lease-guard) # its name from when it first runs
  kill -STOP "$a_pid" # it would replace its guard
  kill -KILL "$guard"
  kill -KILL "$a_pid"
  run -75 "$DLOCK" run -n left -- true
  dlock_run b left -- "$TICKER" "$T/ticks-b" for 100
  ends 10s b "exit 0"
  # Nobody is left to stop what the command has started (the kernel ends the command): two run.
  [ "$(last_tick)" -gt "$(first_tick "$T/ticks-b")" ]
}

# refused_on FILE_SYSTEM COMMAND…: 78, for that reason, and nothing has run.
refused_on() {
  run -78 --separate-stderr "${@:2}" run x -- touch "$T/started"
  [[ $stderr == "dlock: cannot keep locks in $T/locks: it is on $1, "*redis://*'?shared=no'* ]] || fail "$stderr"
  [ ! -e "$T/started" ]
}

@test "O06: local, sqlite: on NFS (statfs is faked): 78 before anything runs, but for ?shared=no" {
  ldd "$DLOCK" >/dev/null 2>&1 || skip "a static dlock takes no preloaded library"
  needs_no_sanitizer "wants to be the first library"
  "${CXX:-c++}" -O1 -shared -fPIC -o "$T/shim.so" "$PROGRAMS/statfs_shim.cpp"
  local on_nfs=(env LD_PRELOAD="$T/shim.so" STATFS_SHIM=0x6969 "$DLOCK")
  mkdir "$T/locks"
  DLOCK_URL=sqlite://$T/locks/db refused_on NFS "${on_nfs[@]}"
  run -0 "${on_nfs[@]}" --url "sqlite://$T/locks/db?shared=no" run x -- true
  export DLOCK_URL=local://$T/locks
  refused_on NFS "${on_nfs[@]}"
  for command in 'inspect x' list 'wait x' 'force-release --yes x'; do
    # shellcheck disable=SC2086  # several words
    run -78 "${on_nfs[@]}" $command
  done
  run -0 "${on_nfs[@]}" --url "$DLOCK_URL?shared=no" run x -- true
}

@test "O06: local, sqlite: on a FUSE mount: 78 before anything runs" {
  [ "$(id -u)" = 0 ] && [ -w /dev/fuse ] || skip "needs root and /dev/fuse"
  mkdir "$T/locks"
  unshare -m python3 "$PROGRAMS/fuse_mount.py" "$T/locks" true || skip "cannot mount FUSE here"
  local url
  for url in "local://$T/locks" "sqlite://$T/locks/db"; do
    DLOCK_URL=$url refused_on FUSE unshare -m python3 "$PROGRAMS/fuse_mount.py" "$T/locks" "$DLOCK"
  done
}
