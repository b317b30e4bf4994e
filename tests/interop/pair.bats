#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: `dlock run -s` and -x make one RReadWriteLock with Java's read and write locks: who may
# stand beside whom, what is written and published, nested holds, downgrades, and what cannot be.
# clients: redisson-4.7.0 redisson-3.27.2
# others: only Redisson for Java has read and write locks in Redis
# shellcheck disable=SC2154,SC2016,SC2034  # *_pid are set by spawn; inner shells; evals

load ../support/suite
suite supervise
load interop
load pair

# --- who beside whom ---------------------------------------------------------------------------

@test "whoever holds and whoever comes: readers stand together, everybody else is alone" {
  # Only the readers may join; but Java's pair does not see a plain lock (the next test).
  local holder kind beside others before
  for holder in java-read java-write java dlock-s dlock-x dlock; do
    others=(dlock-s dlock-x dlock java)
    case $holder in *java | dlock) ;; *) others+=(java-read java-write) ;; esac
    beside=""
    case $holder in java-read | dlock-s) beside=" java-read dlock-s " ;; esac
    takes "$holder"
    before=$(layout)
    for kind in "${others[@]}"; do
      echo "$kind comes to $holder"
      case $beside in
        *" $kind "*) are in "$kind" ;;
        *) are out "$kind" ;;
      esac
      [ "$(layout)" = "$before" ] || { layout && return 1; }
    done
    gives "$holder"
    eventually 20s is_free "$N"
    [ -z "$(layout)" ]
  done
}

@test "Java's read and write locks break into a plain dlock: it stops its command, 79" {
  local kind
  for kind in java-read java-write; do
    on "$kind-$N"
    takes dlock
    asked acquired x "$(word lock "$kind")" "$K" 60000
    ends 20s a "exit 79"
    [ -s "$T/a.ended" ]
    asked 1 x "$(word count "$kind")" "$K"
    are out dlock dlock-x java
    asked released x "$(word unlock "$kind")" "$K"
    are in java-write dlock-x # and not only after the minute
    eventually 20s is_free "$N"
  done
}

@test "slots keep every lock of Java's out, and give way to it" {
  dlock_holds --slots 2 --ttl 60s
  are out java java-read java-write dlock-s dlock-x dlock
  gives dlock
  local kind
  for kind in java java-read java-write; do
    takes "$kind"
    [ "$("$DLOCK" run -q -n --slots 2 "$N" -- true || echo $?)" = 75 ]
    gives "$kind"
  done
  dlock_waits --slots 2
  ends 20s b "exit 0"
}

# --- what is written and said ------------------------------------------------------------------

# alike HOLDS COMMAND…: what Java's actor leaves in Redis when it takes these holds (a minus gives
# one back), dlock leaves by COMMAND.
alike() {
  local hold
  on "java:$1"
  for hold in ${1//,/ }; do
    case $hold in
      -*) asked released x "unlock.${hold#-}" "$K" ;;
      *) asked acquired x "lock.$hold" "$K" 60000 ;;
    esac
  done
  layout | tee "$T/java"
  grep -q '^mode ' "$T/java"
  on "dlock:$1"
  "${@:2}"
  layout | tee "$T/dlock"
  cmp "$T/java" "$T/dlock"
  let_go
  eventually 20s is_free "$N"
  [ -z "$(layout)" ]
}

@test "dlock writes what Redisson writes, hold by hold, and leaves nothing of it" {
  downgraded() { dlock_writes_and_reads 60 && dlock_downgrades; }
  alike read dlock_nests 60 -s
  alike read,read dlock_nests 60 -s -s
  alike read,read,read dlock_nests 60 -s -s -s
  alike write dlock_nests 60 -x
  alike write,write dlock_nests 60 -x -x
  alike write,read dlock_nests 60 -x -s
  alike write,read,read dlock_nests 60 -x -s -s
  alike write,read,-write downgraded
}

# Java's words are looked at as well, so that this compares with what it does and not with notes.
@test "dlock says what Redisson says: 0 after the last reader, 1 after the writer" {
  local kind
  for kind in java-read dlock-s java-write dlock-x; do
    on "$kind"
    listens
    takes "$kind"
    gives "$kind"
    eventually 20s eval '[ -n "$(heard_words)" ]'
    takes "$kind"
    gives "$kind"
    case $kind in
      java-read | dlock-s) eventually 20s eval '[ "$(heard_words)" = "0 0" ]' ;;
      *) eventually 20s eval '[ "$(heard_words)" = "1 1" ]' ;;
    esac
  done
}

@test "a reader of either side that leaves another behind says nothing and takes nothing" {
  listens
  takes java-read
  dlock_holds -s --ttl 60s
  asked released x unlock.read "$K"
  are in java-read dlock-s
  are out java-write dlock-x dlock
  asked acquired x lock.read "$K" 60000
  let_go
  ends 20s a "exit 0"
  are in java-read dlock-s
  are out java-write dlock-x dlock
  [ -z "$(heard_words)" ]
  asked released x unlock.read "$K"
  eventually 20s eval '[ "$(heard_words)" = 0 ]'
  assert_free "$N"
}

# --- nested ------------------------------------------------------------------------------------

@test "Java goes on reading after its write: dlock's readers come then, the rest last" {
  asked acquired x lock.write "$K" 60000
  asked acquired x lock.read "$K" 60000
  are out dlock-s dlock-x dlock
  asked released x unlock.write "$K"
  are in dlock-s java-read
  are out dlock-x java-write dlock
  asked released x unlock.read "$K"
  are in dlock-s dlock-x dlock
}

@test "dlock goes on reading after its write: Java's readers come then, the rest last" {
  dlock_writes_and_reads 60
  are out java-read java-write dlock-s dlock-x dlock
  dlock_downgrades
  [ ! -e "$T/r.ended" ]
  are in java-read dlock-s
  are out java-write dlock-x dlock
  let_go
  eventually 20s is_free "$N"
  are in java-read java-write dlock-s dlock-x dlock
}

@test "an inner hold of either side that ends leaves what is around it" {
  asked acquired x lock.write "$K" 60000
  asked acquired x lock.read "$K" 60000
  asked released x unlock.read "$K"
  asked 1 x count.write "$K"
  are out dlock-s dlock-x dlock
  asked released x unlock.write "$K"
  local outer inner before
  for outer in -x -s; do
    dlock_run "a" "$outer" --ttl 60s "$N" -- sh -c '
      until [ -e "$0/go" ]; do
        if [ -e "$0/inner" ]; then
          "$DLOCK" run "$(cat "$0/inner")" --ttl 20s "$1" -- "$DLOCK" run -s --ttl 20s "$1" -- true
          echo $? >"$0/code"; rm "$0/inner"
        fi
        sleep 0.02
      done' "$T" "$N"
    eventually 20s eval '[ -n "$(layout)" ]'
    before=$(layout)
    for inner in -s "$outer"; do
      echo "$inner" >"$T/inner.new" && mv "$T/inner.new" "$T/inner"
      eventually 20s test ! -e "$T/inner"
      [ "$(cat "$T/code")" = 0 ]
      [ "$(layout)" = "$before" ]
      # The lease around it is neither shortened to the inner one's nor added to.
      [ "$(lock_ttl "$N")" -gt 30000 ]
      [ "$(lock_ttl "$N")" -le 60000 ]
      are out java-write dlock-x dlock
      [ "$outer" = -s ] || are out java-read dlock-s
      [ "$outer" = -x ] || are in java-read dlock-s
    done
    let_go
    ends 20s a "exit 0"
    rm "$T/go"
    assert_free "$N"
  done
}

@test "a reader that wants to write: dlock says so at once, Java's waits for itself" {
  asked acquired x lock.read "$K" 60000
  asked refused x try.write "$K" 300 30000
  dlock_run a -s --ttl 60s "$N" -- "$DLOCK" run -x "$N" -- touch "$T/was-let-in"
  ends 20s a "exit 75"
  grep -q 'would deadlock' "$T/a.err"
  [ ! -e "$T/was-let-in" ]
  asked released x unlock.read "$K"
  assert_free "$N"
}

# --- several of both ---------------------------------------------------------------------------

@test "dlock's readers do not pass a dlock writer that waits for one of Java's readers" {
  takes java-read
  waits dlock-x
  # Otherwise the writer would have to wait for this one as well.
  dlock_run c -s --ttl 60s "$N" -- sh -c 'date +%s%6N >$0/c.began; sleep 0.2' "$T"
  eventually 20s in_line 2
  are out dlock-s
  are in java-read # does not know the line
  gives java-read
  gets_in dlock-x
  ends 20s c "exit 0"
  not_before "$(in_at dlock-x)" "$(given_at java-read)"
  not_before "$(cat "$T/c.began")" "$(in_at dlock-x)"
}

@test "readers of both sides that wait for a writer of either come in together" {
  local holder
  for holder in java-write dlock-x; do
    on "$holder-$N"
    takes "$holder"
    touch "$T/stay"
    dlock_run c -s --ttl 60s "$N" -- sh -c 'date +%s%6N >$0/c.began
      while [ -e $0/stay ]; do sleep 0.02; done' "$T"
    eventually 20s in_line 1
    waits java-read
    [ ! -e "$T/c.began" ]
    gives "$holder"
    gets_in java-read
    eventually 20s test -e "$T/c.began"
    are in dlock-s
    are out java-write dlock-x
    rm "$T/stay" "$T/c.began"
    ends 20s c "exit 0"
    goes java-read
    [ -z "$(layout)" ]
  done
}

@test "readers and writers of both sides, over and over: never both, all get in" {
  echo 0 >"$T/number"
  tell x1 add.write "$K" "$T/number" 6
  tell x2 add.write "$K" "$T/number" 6
  tell y1 look.read "$K" "$T/number" 12
  tell y2 look.read "$K" "$T/number" 12
  spawn writes bash -c 'for i in {1..12}; do
    "$DLOCK" run -x "$1" -- sh -c "n=\$(cat $0); sleep 0.002; echo \$((n + 1)) >$0" "$0" || exit
    done' "$T/number" "$N"
  local i
  for i in 1 2; do
    spawn "reads$i" bash -c 'for i in {1..12}; do
      "$DLOCK" run -s "$1" -- sh -c "n=\$(cat $0); sleep 0.002; [ \"\$n\" = \"\$(cat $0)\" ]" "$0" ||
        exit; done' "$T/number" "$N"
  done
  for i in writes reads1 reads2; do ends 60s "$i" "exit 0"; done
  for i in 1 2; do
    says 60s "x$i" add.write "$K" "done"
    says 60s "y$i" look.read "$K" "done"
  done
  [ "$(cat "$T/number")" = 24 ]
  [ -z "$(layout)" ]
}

# --- seen and taken away by the others ---------------------------------------------------------

@test "Java sees dlock's readers and writers, and cannot release them" {
  takes dlock-s
  asked true x locked.read "$K"
  asked false x locked.write "$K"
  asked 0 x count.read "$K"
  asked "error IllegalMonitorStateException" x unlock.read "$K"
  gives dlock-s
  takes dlock-x
  asked false x locked.read "$K"
  asked true x locked.write "$K"
  asked "error IllegalMonitorStateException" x unlock.write "$K"
  [ "$(ask x ttl.write "$K")" -gt 30000 ]
  are out java-read
  gives dlock-x
  asked false x locked.write "$K"
  dlock_nests 60 -x -s
  asked true x locked.read "$K"
  asked true x locked.write "$K"
  gives dlock-x
}

@test "inspect shows Java's readers beside dlock's, each with its own lease" {
  asked acquired x lock.read "$K" 30000
  asked acquired x lock.read "$K" 60000
  dlock_holds -s --ttl 120s
  [ "$(inspected 'lock["mode"]')" = shared ]
  [ "$(inspected 'lock["owner_count"]')" = 2 ]
  [ "$(inspected 'len(lock["holds"])')" = 1 ]
  local one
  one="[o for o in lock[\"owners\"] if o[\"id\"] == \"$(ask x owner "$K")\"][0]"
  [ "$(inspected "$one"'["count"]')" = 2 ]
  [ "$(inspected "30000 < $one"'["lease_left_ms"] <= 60000')" = True ]
  gives dlock
  gives java-read
  gives java-read
  asked acquired x lock.write "$K" 30000
  [ "$(inspected 'lock["mode"]')" = exclusive ]
  [ "$(inspected '0 < lock["lease_left_ms"] <= 30000')" = True ]
  gives java-write
}

@test "Java's forced unlock of dlock's reader or writer: it stops its command, 79" {
  takes dlock-s
  asked true x force.read "$K"
  ends 20s a "exit 79"
  takes dlock-x
  asked true x force.write "$K"
  ends 20s a "exit 79"
  are in java-write dlock-x
}

@test "force-release --now of Java's reader or writer: who waits on either side gets in" {
  local holder kind
  for holder in java-read java-write; do
    for kind in java-write dlock-x; do
      on "$holder-$kind"
      takes "$holder"
      waits "$kind"
      "$DLOCK" force-release --yes --now "$N"
      gets_in "$kind"
      ask x "$(word unlock "$holder")" "$K" # some say released where nothing is
      goes "$kind"
      eventually 20s is_free "$N"
    done
  done
}

@test "names with braces or colons, and without a prefix" {
  local name
  for name in "a{$N}c" "$N{d" "$N:e:7" "plain-$N"; do
    on "$name"
    if [ "$name" = "plain-$N" ]; then export DLOCK_PREFIX="" K=$name; fi
    takes dlock-x
    waits java-read
    gives dlock-x
    gets_in java-read
    are in dlock-s
    are out dlock-x dlock
    waits dlock-x
    goes java-read
    gets_in dlock-x
    [ -z "$(layout)" ]
  done
}
