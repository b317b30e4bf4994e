#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: an ordinary user of this machine neither takes away nor blocks the locks of another one, nor
# of root: what he could change is refused, with what to do; those of one group share a place.
# Alice and mallory are two users without a name.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise store_cases
ALICE=12345 MALLORY=54321
OWN_PLACE="use a directory of your own, or /var/lib/dlock (group dlock), or make one for a group: install -d -m 2770 -o root -g GROUP DIRECTORY"

setup() {
  [ "$(id -u)" = 0 ] || skip "needs root, to be another user"
  set_up
  OUTSIDE=$(mktemp -d "${TMPDIR:-/tmp}/dlock-users.XXXXXX")
  chmod 755 "$OUTSIDE"
  install -m 755 "$DLOCK" "$OUTSIDE/dlock"
  mkdir -m 1777 "$OUTSIDE/tmp"
  mkdir "$OUTSIDE/locks"
}
teardown() {
  [ -z "${OUTSIDE:-}" ] || rm -rf "$OUTSIDE"
  clean_up
}
# as USER COMMAND…
as() { setpriv --reuid="$1" --regid="$1" --clear-groups env HOME=/ "${@:2}"; }
# refused URL TEXT [USER]: root, or that user, gets no lock there: 77, one line, nothing has run.
refused() {
  run -77 --separate-stderr as "${3:-0}" "$OUTSIDE/dlock" --url "$1" run a -- touch "$MARKER"
  assert_stderr_has "$2"
  assert_one_line
  assert_not_started
}

@test "a pipe of another user in the place of a password, a key or a certificate is refused, and not waited for" {
  local option pipe=$OUTSIDE/tmp/pipe
  mkfifo -m 644 "$pipe"
  for option in --password-file --key-password-file --cacert --cert --key; do
    chown $MALLORY "$pipe"
    run -78 --separate-stderr timeout 5 "$DLOCK" "$option" "$pipe" --url rediss://127.0.0.1:1 run -n a -- touch "$MARKER"
    assert_stderr_has "$pipe: is owned by user $MALLORY, neither root nor you"
    assert_one_line
  done
  assert_not_started
}

@test "a link of another user in the place of the settings is not followed" {
  mkdir -p "$T/home/.config/dlock"
  printf 'prefix = "x:"\n' >"$T/own.toml"
  ln -s "$T/own.toml" "$T/home/.config/dlock/config.toml"
  run -0 env -u XDG_CONFIG_HOME -u DLOCK_CONFIG HOME="$T/home" "$DLOCK" config
  assert_output --partial "x:"
  chown -h 65534 "$T/home/.config/dlock/config.toml"
  run -78 env -u XDG_CONFIG_HOME -u DLOCK_CONFIG HOME="$T/home" "$DLOCK" config
  assert_output --partial "config.toml: is owned by user 65534, neither root nor you"
}

@test "a directory that another user made is refused, also by root, and one below it" {
  local place=$OUTSIDE/tmp/locks user
  as $MALLORY mkdir "$place" "$place/inner"
  for user in 0 $ALICE; do
    refused "local://$place" "cannot keep locks in $place: it belongs to user $MALLORY, neither root nor you; $OWN_PLACE" "$user"
    refused "local://$place/new" "cannot keep locks in $place/new: $place belongs to user $MALLORY, neither root" "$user"
    refused "local://$place/inner/../../locks" "it belongs to user $MALLORY" "$user"
    refused "sqlite://$place/locks.db" "cannot keep locks in $place: it belongs to user $MALLORY, neither root nor you; $OWN_PLACE" "$user"
  done
  [ "$(find "$place" | wc -l)" = 2 ]
  as $MALLORY "$OUTSIDE/dlock" --url "local://$place" run a -- true
}

@test "a place where every user may make files is refused, and one's own in it is not" {
  local place=$OUTSIDE/tmp user
  for user in 0 $ALICE; do
    refused "local://$place" "cannot keep locks in $place: it is for every user to make files in; $OWN_PLACE" "$user"
    refused "sqlite://$place/locks.db" "cannot keep locks in $place: it is for every user to make files in; $OWN_PLACE" "$user"
  done
  run -0 as $ALICE "$OUTSIDE/dlock" --url "local://$place/own" run a -- true
  run -0 as $ALICE "$OUTSIDE/dlock" --url "sqlite://$place/own/locks.db" run a -- true
  chmod 777 "$place"
  refused "local://$place/own" "$place is for every user to change (chmod o-w)" $ALICE
  refused "sqlite://$place/own/locks.db" "$place is for every user to change (chmod o-w)" $ALICE
}

@test "a link of another user on the way is not followed, one of root is" {
  local url
  mkdir "$OUTSIDE/root"
  ln -s "$OUTSIDE/root" "$OUTSIDE/tmp/link"
  ln -s "$OUTSIDE/tmp/link" "$OUTSIDE/link"
  for url in "local://$OUTSIDE/link/locks" "sqlite://$OUTSIDE/link/locks.db"; do
    chown -h 0 "$OUTSIDE/tmp/link"
    run -0 "$OUTSIDE/dlock" --url "$url" run a -- true
    chown -h $MALLORY "$OUTSIDE/tmp/link"
    refused "$url" "$OUTSIDE/tmp/link belongs to user $MALLORY"
  done
  ln -s root/locks.db "$OUTSIDE/other.db"
  chmod 1777 "$OUTSIDE/root"
  refused "sqlite://$OUTSIDE/other.db" "$OUTSIDE/root is for every user to make files in"
}

@test "who has no right to the files of a lock cannot block it, whatever the umask of its owner" {
  local url file
  for url in "local://$OUTSIDE/locks" "sqlite://$OUTSIDE/locks/locks.db"; do
    (umask 000 && "$OUTSIDE/dlock" --url "$url" run a -- true)
  done
  for file in a.lock a.json locks.db locks.db-wal locks.db-shm; do
    [ "$(stat -c %a "$OUTSIDE/locks/$file")" = 660 ] || fail "$file: $(stat -c %a "$OUTSIDE/locks/$file")"
    run ! as $MALLORY cat "$OUTSIDE/locks/$file"
  done
  (umask 022 && "$OUTSIDE/dlock" --url "local://$OUTSIDE/locks" run b -- true)
  [ "$(stat -c %a "$OUTSIDE/locks/b.json")" = 640 ]
}

@test "a file beside the database that another user left is refused before it is used" {
  local db=$OUTSIDE/locks/locks.db end
  for end in '' -wal -shm -journal; do
    rm -f "$db"*
    "$OUTSIDE/dlock" --url "sqlite://$db" run a -- true
    [ "$end" != -journal ] || sqlite3 "$db" 'PRAGMA journal_mode=delete' >/dev/null
    [ "$end" = '' ] || rm -f "$db"-*
    # An index that is cut would end its reader by SIGBUS.
    [ "$end" = '' ] || install -m 600 /dev/null "$db$end"
    [ "$end" = '' ] || echo planted >"$db$end"
    chown $MALLORY "$db$end"
    refused "sqlite://$db" "cannot use $db$end: it belongs to user $MALLORY, neither root nor you nor of the group of its directory (chown root); remove it if no job uses it"
    [ "$end" = '' ] || [ "$(cat "$db$end")" = planted ]
    chown 0 "$db$end"
    chmod 666 "$db$end"
    refused "sqlite://$db" "cannot use $db$end: it is for every user to write (chmod o-w)"
    [ "$end" != '' ] || continue
    rm "$db$end"
    mkfifo "$db$end"
    refused "sqlite://$db" "cannot use $db$end: it is no regular file"
  done
}

@test "a file of a lock that another user left in a directory is refused" {
  local file
  for file in a.lock a.json; do
    as $MALLORY cp /dev/null "$OUTSIDE/tmp/$file"
    mv "$OUTSIDE/tmp/$file" "$OUTSIDE/locks/$file"
    refused "local://$OUTSIDE/locks" "cannot use $OUTSIDE/locks/$file: it belongs to user $MALLORY, neither root nor you"
    rm "$OUTSIDE/locks/$file"
  done
}

# member USER WORD…: of group 60.
member() { setpriv --reuid="$1" --regid=nogroup --groups=60 env HOME=/ "$OUTSIDE/dlock" "${@:2}"; }

@test "two users who share the recommended place keep each other out, hand over, and are waited for by root" {
  local url
  install -d -m 2770 -o root -g 60 "$OUTSIDE/group"
  for url in "local://$OUTSIDE/group" "sqlite://$OUTSIDE/group/locks.db"; do
    export DLOCK_URL=$url
    spawn a setpriv --reuid=$ALICE --regid=nogroup --groups=60 env HOME=/ "$OUTSIDE/dlock" run a -- sleep 60
    eventually 10s "$DLOCK" inspect -q a
    run -75 member $MALLORY run -n a -- touch "$MARKER"
    run -75 "$DLOCK" run -n a -- touch "$MARKER"
    refused "$url" "its locks are for the members of group with the number 60" 4711
    kill "$(cat "$T/a.pid")"
    run -0 member $MALLORY run -w 10 a -- true
    run -0 "$DLOCK" run a -- true
    run -0 member $ALICE run a -- true
    rm -f "$T/a.pid"
  done
  # Not of one that a member made: he could take the right away again.
  chown $MALLORY "$OUTSIDE/group"
  run -77 member $ALICE run a -- true
}

@test "doctor judges the place, its owner, its mode and all above it" {
  local place=$OUTSIDE/locks
  run -0 "$OUTSIDE/dlock" --url "local://$place" doctor -v
  assert_line --regexp 'directory +.* has mode 0755 and belongs to user 0'
  assert_line --regexp 'parents +.*what is above the directory belongs to root or to this user'
  install -m 644 /dev/null "$place/a.lock"
  run -0 "$OUTSIDE/dlock" --url "local://$place" doctor
  assert_output --partial "$place/a.lock has mode 0644"
  assert_output --partial "who can read a file of a lock can block the lock"
  chown $MALLORY "$place/a.lock"
  run -1 "$OUTSIDE/dlock" --url "local://$place" doctor
  assert_output --partial "$place/a.lock has mode 0644 and belongs to user $MALLORY: it belongs to user $MALLORY, neither root"
  "$OUTSIDE/dlock" --url "sqlite://$place/locks.db" run a -- true
  chown $MALLORY "$place/locks.db-shm"
  run -1 "$OUTSIDE/dlock" --url "sqlite://$place/locks.db" doctor
  assert_output --partial "it belongs to user $MALLORY, neither root nor you nor of the group of its directory (chown root): it is not used (77)"
  chown $MALLORY "$place"
  local url
  for url in "local://$place" "sqlite://$place/locks.db"; do
    run -1 "$OUTSIDE/dlock" --url "$url" doctor
    assert_output --partial "$place has mode 0755 and belongs to user $MALLORY"
    assert_output --partial "$OWN_PLACE"
  done
  run -1 as $MALLORY "$OUTSIDE/dlock" --url "local://$OUTSIDE/tmp" doctor
  assert_output --partial "is for every user to make files in"
  chmod 777 "$OUTSIDE"
  run -1 as $MALLORY "$OUTSIDE/dlock" --url "local://$place" doctor
  assert_output --partial "$OUTSIDE has mode 0777 and belongs to user 0"
  assert_output --partial "it is for every user to change (chmod o-w), and another directory could be put in the place of the locks"
}

@test "in a sandbox where root is not mapped the directories of root are trusted, those of /tmp are not" {
  as $ALICE unshare --user --map-current-user true 2>/dev/null || skip "no right to make namespaces"
  local in_mount='mount -t tmpfs -o mode=755 tmpfs /mnt && install -m 755 "$0" /mnt/dlock &&
    install -d -o "$1" /mnt/alice && mkdir -m 1777 /mnt/tmp && install -d -o "$2" -m 777 /mnt/tmp/trap &&
    exec setpriv --reuid="$1" --regid="$1" --clear-groups unshare --user --map-current-user /mnt/dlock "${@:3}"'
  in_sandbox() { unshare -m bash -c "$in_mount" "$DLOCK" $ALICE $MALLORY "$@"; }
  run -0 in_sandbox --url "local:///mnt/alice" run a -- true
  run -77 --separate-stderr in_sandbox --url "local:///mnt/tmp/trap/a" run a -- touch "$MARKER"
  assert_stderr_has "/mnt/tmp/trap belongs to user 65534, neither root nor you"
  assert_not_started
}
