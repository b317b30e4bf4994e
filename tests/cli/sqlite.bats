#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: sqlite:///file keeps the locks of one machine: one at a time, first come first served,
# everything that a lock in Redis can do, and nothing of it depends on a server.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite cli supervise ticker line store_cases supersede refused

setup() {
  set_up
  export DLOCK_URL=sqlite://$T/locks.db
}
teardown() {
  end_line
  [ -z "${OUTSIDE:-}" ] || rm -rf "$OUTSIDE"
  clean_up
}
# A folder that other users can reach, with the program.
outside() {
  [ "$(id -u)" = 0 ] || skip "needs root, to be another user"
  OUTSIDE=$(mktemp -d "${TMPDIR:-/tmp}/dlock-sqlite.XXXXXX")
  chmod 755 "$OUTSIDE"
  install -m 755 "$DLOCK" "$OUTSIDE/dlock"
}
as_user() { setpriv --reuid="$1" --regid=nogroup --clear-groups env HOME=/ "$OUTSIDE/dlock" "${@:2}"; }

@test "one hundred at once increment one by one, and no lock is left" {
  count_in_parallel 100 1
  run -0 "$DLOCK" list
  assert_output ""
  [ "$(sqlite3 "$T/locks.db" 'SELECT count(*) FROM dlock_line')" = 0 ]
}

@test "the log, which each run reads, stays short" {
  for _ in {1..150}; do "$DLOCK" run a -- true; done
  [ "$(stat -c %s "$T/locks.db-wal")" -le $((120 * 4120)) ]
}

@test "a waiter that was killed does not keep run -n from a free lock" { dead_waiter_keeps_no_free_lock; }
@test "waiters enter in the order of their arrival, and inspect lists them" { waiters_enter_in_order; }
@test "a first waiter that is frozen is passed over, one that was killed as well" { first_waiter_is_passed_over; }
@test "killed with its guard, a holder loses the lock when its lease ends" { killed_with_its_guard; }

@test "O07: a holder whose file is removed is stopped at once, and exits with 79" {
  dlock_run a --ttl 30s a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  rm "$T"/locks.db*
  ends 10s a "exit 79"
  file_has "$T/a.err" lost
}

@test "renew --while ends with the release of its hold, and waits for no renewal" { keeper_ends_with_the_release; }
@test "force-release stops the holder at once; the waiter runs after it" { force_release_stops; }
@test "across steps, nested, several names, slots and readers" { all_that_a_lock_can; }

@test "a user of the group of the file may look without the right to write, and takes no lock" {
  outside
  export DLOCK_URL=sqlite://$OUTSIDE/locks.db
  hold a
  run -77 as_user nobody inspect -q a
  chgrp nogroup "$OUTSIDE"/locks.db*
  run -0 as_user nobody inspect -q a
  run -77 --separate-stderr as_user nobody run b -- touch "$MARKER"
  assert_not_started
  let_go
}

# as_member USER UMASK WORD…: the user is a member of the group 60.
as_member() {
  setpriv --reuid="$1" --regid=nogroup --groups=60 env HOME=/ sh -c 'umask "$0"; exec "$@"' "$2" "$OUTSIDE/dlock" "${@:3}"
}

@test "the users of a group share the locks of its directory, whatever their umask; others are told how" {
  outside
  install -d -m 2770 -g 60 "$OUTSIDE/group"
  local url
  for url in "sqlite://$OUTSIDE/group/locks.db" "local://$OUTSIDE/group"; do
    export DLOCK_URL=$url
    run -0 as_member nobody 077 run a -- true
    run -0 as_member daemon 022 run a -- true
    run -0 as_member nobody 077 run --ttl 5s a -- true
    run -0 "$DLOCK" run a -- true
    run -0 as_member daemon 022 run a -- true
    run -77 --separate-stderr as_user daemon run a -- touch "$MARKER"
    assert_stderr_has "its locks are for the members of group with the number 60: usermod -a -G GROUP USER"
    run -0 "$DLOCK" doctor -v
    assert_line --partial "the members of group 60 share the locks"
  done
}

@test "a user who may not use the file of another one is told at once what several users need" {
  outside
  export DLOCK_URL=sqlite://$OUTSIDE/locks.db
  (umask 022 && "$DLOCK" run a -- true)
  run -77 --separate-stderr as_user daemon run a -- touch "$MARKER"
  assert_stderr_has "it has mode 0640 and belongs to user 0"
  assert_stderr_has "several users share the locks of a directory of their group, such as /var/lib/dlock"
  assert_not_started
}

@test "a directory in place of the file, and a file system that is read-only, are named at once" {
  run -78 --separate-stderr "$DLOCK" --url "sqlite://$T" run a -- touch "$MARKER"
  assert_stderr_has "cannot keep locks in $T: it is a directory; name a file in it, such as $T/dlock.db"
  [ "$(id -u)" = 0 ] || skip "needs root, to mount"
  run -0 "$DLOCK" run a -- true
  local url read_only='mount -o bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
  for url in "sqlite://$T/new.db" "sqlite://$T/locks.db" "local://$T/new"; do
    run -69 --separate-stderr unshare -m sh -c "$read_only" "$T" "$DLOCK" --url "$url" run a -- touch "$MARKER"
    assert_stderr_has "read-only file system"
    assert_one_line
    refute_stderr_has "trying again"
  done
}

@test "the index of the log is removed while a lock is held: no two run" {
  dlock_run a --ttl 2s a -- sh -c 'echo $$ >"$0/in"; exec sleep 6' "$T"
  eventually 10s file_has "$T/in"
  rm "$T/locks.db-shm"
  run "$DLOCK" run -w 8 a -- sh -c 'ps -o comm= -p "$(cat "$0/in")" | grep -q sleep && touch "$0/overlap"; true' "$T"
  eventually 15s ended a
  [ ! -e "$T/overlap" ] || fail "two ran"
}

@test "the log is removed while a lock is held: the lock is lost, and the holder ends with 79" {
  dlock_run a --ttl 2s a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  rm "$T/locks.db-wal" "$T/locks.db-shm"
  ends 10s a "exit 79"
}

@test "doctor: the file and its content; a trial that leaves nothing" {
  run -0 "$DLOCK" doctor -v
  assert_line --partial "no file yet"
  [ ! -e "$T/locks.db" ]
  run -0 "$DLOCK" run a -- true
  run -0 "$DLOCK" doctor -v
  assert_line --partial "passes quick_check"
  ln -s "$T" "$T/link"
  ln -s "$T/locks.db" "$T/link.db"
  run -0 "$DLOCK" --url "sqlite://$T/link.db" doctor
  run -0 "$DLOCK" --url "sqlite://$T/link/locks.db" doctor
  assert_line "$("$DLOCK" doctor | grep '^identity: [0-9a-f]*: must be the same')"
  [ "$(sqlite3 "$T/locks.db" 'SELECT group_concat(name) FROM dlock')" = a ]
  dd if=/dev/zero of="$T/locks.db" bs=1 count=100 conv=notrunc status=none
  rm -f "$T"/locks.db-*
  run "$DLOCK" doctor
  [ "$status" != 0 ]
}

@test "a URL that is none says what one looks like" {
  local url
  for url in sqlite://x sqlite:// sqlite:/// 'sqlite:///a?mode=ro'; do
    run -64 --separate-stderr "$DLOCK" --url "$url" run a -- touch "$MARKER"
    assert_stderr_has "write sqlite:///var/lib/dlock/dlock.db"
  done
  run -69 "$DLOCK" --url "sqlite://$T/none/locks.db" --connect-timeout 1s run a -- touch "$MARKER"
  assert_not_started
}

@test "the last run: who, when, how it ended" {
  tells_the_last_run
}

@test "freeze, unfreeze: free and held locks, refusals, list and inspect" {
  freezes
}

@test "supersede: the newest run wins; a holder that said so is revoked" {
  supersedes
  supersedes_the_holder
}

@test "a lock that a newer dlock wrote is refused before anything is changed" {
  hold a
  sqlite3 "$T/locks.db" "UPDATE dlock SET state = json_set(state, '$.layout', 2)"
  newer_dlock_is_refused
  [ "$(sqlite3 "$T/locks.db" "SELECT count(*) FROM dlock_line")" = 0 ]
}

@test "a table with a column more is used, and one that is missing is named" {
  "$DLOCK" run a -- true
  sqlite3 "$T/locks.db" "ALTER TABLE dlock ADD COLUMN note TEXT; ALTER TABLE dlock_line ADD COLUMN note TEXT"
  hold a
  stand a 1
  let_go
  eventually 10s entered 1
  sqlite3 "$T/locks.db" "ALTER TABLE dlock DROP COLUMN token"
  run -69 --separate-stderr "$DLOCK" run a -- touch "$MARKER"
  assert_stderr_has token
  assert_not_started
}

@test "what a file's schema computes costs a run no more than its limit, and a long row no memory" {
  local file
  for file in slow search long; do
    DLOCK_URL=sqlite://$T/$file.db run -0 "$DLOCK" run first -- true
  done
  python3 - "$T" <<'EOF'
import sqlite3, sys
def check(file, what):
    base = sqlite3.connect(sys.argv[1] + file)
    schema = base.execute("SELECT sql FROM sqlite_master WHERE name = 'dlock'").fetchone()[0]
    base.execute("DROP TABLE dlock")
    base.execute(schema.replace("state TEXT NOT NULL", "state TEXT NOT NULL, CHECK (%s)" % what))
    base.commit()
check("/slow.db", " AND ".join(["length(hex(zeroblob(30000000 + length(name)))) > 0"] * 900))
check("/search.db", "instr(hex(zeroblob(2000000)), hex(zeroblob(1000000)) || name) = 0")
base = sqlite3.connect(sys.argv[1] + "/long.db")
base.execute("UPDATE dlock SET state = CAST(zeroblob(200000000) AS TEXT)")
base.commit()
EOF
  for file in slow search; do
    DLOCK_URL=sqlite://$T/$file.db refused 69 run -w 1 first -- touch "$MARKER"
  done
  DLOCK_URL=sqlite://$T/long.db refused 69 run -n first -- touch "$MARKER"
  assert_stderr_has 'out of memory'
}

# The schema is made to run more than it is asked for: what is there when dlock uses it is text of others.
@test "no trigger, view, default or index of a file runs code, and no other file is made by it" {
  local way
  for way in trigger view default index generated; do
    DLOCK_URL=sqlite://$T/$way.db run -0 "$DLOCK" run first -- true
  done
  python3 - "$T" <<'EOF'
import sqlite3, sys
def change(file, *texts):
    base = sqlite3.connect(sys.argv[1] + "/" + file + ".db")
    base.execute("PRAGMA writable_schema = on")
    for text in texts:
        base.execute(text)
    base.commit()
change("trigger", "CREATE TABLE seen (x)", "CREATE TRIGGER t AFTER UPDATE ON dlock BEGIN INSERT INTO seen VALUES (load_extension('%s/x')); END" % sys.argv[1])
change("view", "ALTER TABLE dlock RENAME TO real", "CREATE VIEW dlock AS SELECT *, load_extension('%s/x') AS e FROM real" % sys.argv[1])
change("default", "ALTER TABLE dlock ADD COLUMN note DEFAULT (1)", "UPDATE sqlite_master SET sql = replace(sql, 'DEFAULT (1)', 'DEFAULT (writefile(''%s/made'', ''x''))')" % sys.argv[1])
change("index", "CREATE INDEX i ON dlock (abs(token))", "UPDATE sqlite_master SET sql = replace(sql, 'abs(token)', 'load_extension(''%s/x'')') WHERE name = 'i'" % sys.argv[1])
change("generated", "ALTER TABLE dlock ADD COLUMN g AS (abs(token))", "UPDATE sqlite_master SET sql = replace(sql, 'abs(token)', 'load_extension(''%s/x'')') WHERE name = 'dlock'" % sys.argv[1])
EOF
  for way in trigger view default index generated; do
    DLOCK_URL=sqlite://$T/$way.db run "$DLOCK" run -n first -- true
    [[ $status = 0 || $status = 69 || $status = 78 || $status = 77 ]] || fail "$way: $status $output"
  done
  [ ! -e "$T/made" ]
}

@test "a file with damaged bytes is refused or used, and ends no run by a signal" {
  DLOCK_URL=sqlite://$T/whole.db run -0 "$DLOCK" run --slots 2 first -- true
  local seed
  python3 - "$T" <<'EOF'
import random, sys
whole = open(sys.argv[1] + "/whole.db", "rb").read()
for seed in range(40):
    random.seed(seed)
    data = bytearray(whole)
    for _ in range(random.choice((1, 8, 100))):
        data[random.randrange(len(data))] = random.randrange(256)
    with open("%s/%d.db" % (sys.argv[1], seed), "wb") as file:
        file.write(data[:random.choice((len(data), len(data), len(data) // 2))])
EOF
  for seed in {0..39}; do
    DLOCK_URL=sqlite://$T/$seed.db run "$DLOCK" run -n first -- true
    [[ $status = 0 || $status = 69 ]] || fail "seed $seed: $status $output"
  done
}
