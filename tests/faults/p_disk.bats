#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Disks that are full or hang, and commands that no signal of ours can end: the lock is kept for as
# long as they live and it can be, and is never said to be free before.
# *_pid are set by spawn; every test is a shell of its own.
# shellcheck disable=SC2154,SC2030,SC2031

load ../support/suite
suite server ticker faults

setup() {
  set_up
  DISK=$BATS_TEST_TMPDIR/disk
  mkdir "$DISK"
}
teardown() {
  ! mountpoint -q "$DISK" || fsfreeze -u "$DISK" 2>/dev/null || true
  clean_up
  ! mountpoint -q "$DISK" || eventually 5s umount "$DISK"
  [ -z "${FOLDER:-}" ] || rm -r "$FOLDER"
}

# A file system of its own at $DISK, which a test may freeze.
mount_disk() {
  [ "$(id -u)" = 0 ] || skip "needs root, to mount a file system"
  truncate -s 16M "$T/image"
  mkfs.ext4 -q "$T/image" || skip "needs mkfs.ext4"
  mount -o loop "$T/image" "$DISK" 2>/dev/null || skip "no loop devices here"
}

# held_for SECONDS NAME: it is held all the time.
held_for() {
  local end=$((SECONDS + $1 + 1))
  while [ "$SECONDS" -lt "$end" ]; do
    key_exists "$2" || return 1
    sleep 0.05
  done
}

@test "P17: stderr is a file on a full disk: renewed in time, the command's code" {
  [ "$(id -u)" = 0 ] || skip "needs root, to mount a file system"
  mount -t tmpfs -o size=64k tmpfs "$DISK"
  head -c 1000000 /dev/zero >"$DISK/fill" 2>/dev/null || true
  touch "$DISK/log" || true
  run ! sh -c "echo line >>'$DISK/log'" 2>/dev/null
  "$DLOCK" -vv run --ttl 4s -k 200ms full -- sh -c "touch $T/in; $(until_there "$T/go"); exit 5" \
    2>>"$DISK/log" 3>&- &
  STARTED+=($!)
  eventually 10s test -e "$T/in"
  held_for 5 full
  touch "$T/go"
  local code=0
  wait "${STARTED[-1]}" || code=$?
  [ "$code" = 5 ]
  assert_free full
}

@test "P17: stderr is a file on a frozen disk and there is nothing to say: as if it were not" {
  mount_disk
  touch "$DISK/log"
  fsfreeze -f "$DISK"
  "$DLOCK" run --ttl 4s -k 200ms calm -- sh -c "touch $T/in; $(until_there "$T/go"); exit 5" \
    2>>"$DISK/log" 3>&- &
  STARTED+=($!)
  eventually 10s test -e "$T/in"
  held_for 5 calm
  touch "$T/go"
  local code=0
  wait "${STARTED[-1]}" || code=$?
  [ "$code" = 5 ]
  assert_free calm
}

@test "P17: stderr freezes in the middle of a talk: renewed in time, the command's code when it thaws" {
  mount_disk
  "$DLOCK" -v run --ttl 4s -k 200ms talk -- sh -c "touch $T/in; $(until_there "$T/go"); exit 5" \
    2>>"$DISK/log" 3>&- &
  STARTED+=($!)
  eventually 10s test -e "$T/in"
  fsfreeze -f "$DISK"
  held_for 6 talk
  touch "$T/go"
  # Free while the disk is frozen; only the end of dlock waits for it, in the kernel.
  eventually 10s is_free talk
  fsfreeze -u "$DISK"
  local code=0
  wait "${STARTED[0]}" || code=$?
  [ "$code" = 5 ]
  [ "$(grep -c 'renewed' "$DISK/log")" -ge 2 ]
}

@test "P17: lines to a file are all there, in order, at the end" {
  local round
  for ((round = 0; round < 5; round++)); do
    "$DLOCK" -v --log-format json run --ttl 60s lines -- true 2>"$T/log"
    run -0 sed -E 's/.*"event":"([a-z]*)".*/\1/' "$T/log"
    [ "${lines[*]}" = "message granted started reaped released" ] || { cat "$T/log"; false; }
  done
}

# stuck_on_disk NAME: a holder `a` whose command is in uninterruptible sleep. The shell opens the file
# itself: a program that is still being loaded can be in such a sleep too, and be killed then.
stuck_on_disk() {
  mount_disk
  fsfreeze -f "$DISK"
  dlock_run a --ttl 4s -k 200ms "$1" -- \
    sh -c "echo \$\$ >$T/command.pid; : >$DISK/file"
  eventually 10s file_has "$T/command.pid"
  eventually 10s grep -q '^State:.*D (disk' "/proc/$(cat "$T/command.pid")/status"
}

@test "P18: a command in uninterruptible sleep that is to end: said, and renewed while it lives" {
  stuck_on_disk asleep
  kill -TERM "$a_pid"
  eventually 10s grep -q 'has not ended after SIGKILL' "$T/a.err"
  held_for 5 asleep
  alive "$(cat "$T/command.pid")"
  run ! ended a
  fsfreeze -u "$DISK"
  eventually 10s ended a
  grep -qE '^signal (15|9)$' "$T/a.end"
  gone "$(cat "$T/command.pid")"
  assert_free asleep
}

@test "P18: a command in uninterruptible sleep whose lock is lost: 79 only when it is dead" {
  stuck_on_disk asleep-lost
  r del dlock:asleep-lost
  eventually 10s grep -q 'has not ended after SIGKILL' "$T/a.err"
  run ! ended a
  alive "$(cat "$T/command.pid")"
  assert_free asleep-lost
  fsfreeze -u "$DISK"
  ends 10s a "exit 79"
  gone "$(cat "$T/command.pid")"
}

@test "P27: a command that became another user: said, and renewed for as long as it lives" {
  [ "$(id -u)" = 0 ] || skip "needs root, to become other users"
  start_proxy
  # Outside the folders of the suite, which are closed to other users.
  FOLDER=$(mktemp -d)
  chmod 777 "$FOLDER"
  install -m 755 "$DLOCK" "$FOLDER/dlock"
  install -m 4755 "$TICKER" "$FOLDER/ticker"
  DLOCK_URL=$PROXY_URL spawn a setpriv --reuid 54321 --regid 54321 --clear-groups \
    "$FOLDER/dlock" run --ttl 4s -k 200ms others -- "$FOLDER/ticker" "$FOLDER/ticks" become for 10000
  eventually 10s ticking "$FOLDER/ticks"
  kill -TERM "$a_pid"
  eventually 10s grep -q 'has not ended after SIGKILL' "$T/a.err"
  held_for 4 others
  ! ended a || [ "$(tail -1 "$FOLDER/ticks" | cut -d ' ' -f 3)" = end ]
  eventually 15s ended a
  grep -q ' end$' "$FOLDER/ticks"
  [ "$(cat "$T/a.end")" = "exit 0" ]
  assert_free others
}
