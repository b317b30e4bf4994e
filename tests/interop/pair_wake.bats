#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: who waits for a reader or writer of the other side is woken by its release, and a reader
# by a writer that goes on as a reader, long before a lease ends. Like wake.bats, it prints figures.
# clients: redisson-4.7.0 redisson-3.27.2
# others: only Redisson for Java has read and write locks in Redis
# alone: yes
# shellcheck disable=SC2154,SC2034  # *_pid are set by spawn; loops count

load ../support/suite
suite supervise
load interop
load pair

setup() {
  set_up
  feel_pulse
}

# woken HOLDER KIND: the holder gives to who waits, over and over.
woken() {
  local i
  for i in {1..5}; do
    on "$1-$2-$i"
    takes "$1"
    waits "$2"
    gives "$1"
    gets_in "$2"
    echo "$(given_at "$1") $(in_at "$2")" >>"$T/times"
    goes "$2"
  done
}

@test "dlock's readers and writers are woken by the release of Java's" {
  woken java-write dlock-s
  woken java-write dlock-x
  woken java-read dlock-x
  woken java-write dlock
  figure "from a release of Java's pair to dlock's command" <"$T/times"
}

@test "Java's readers and writers are woken by the release of dlock's" {
  woken dlock-x java-read
  woken dlock-x java-write
  woken dlock-s java-write
  figure "from the end of dlock -s, -x to Java's pair" <"$T/times"
}

@test "dlock's readers come when Java's writer goes on as a reader, which tells nobody" {
  local i
  for i in {1..5}; do
    on "down-$i"
    takes java-write
    takes java-read
    waits dlock-s
    gives java-write
    gets_in dlock-s
    echo "$(given_at java-write) $(in_at dlock-s)" >>"$T/times"
    gives java-read
  done
  figure "from the downgrade of Java's writer to dlock -s" <"$T/times"
}

@test "Java's readers are woken when dlock's writer goes on as a reader" {
  local i
  for i in {1..5}; do
    on "down-$i"
    dlock_writes_and_reads 60
    waits java-read
    dlock_downgrades
    gets_in java-read
    echo "$(given_at dlock-x) $(in_at java-read)" >>"$T/times"
    [ ! -e "$T/r.ended" ]
    goes java-read
    let_go
    eventually 20s is_free "$N"
  done
  figure "from the downgrade of dlock -x to Java's reader" <"$T/times"
}
