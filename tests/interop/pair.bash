# SPDX-License-Identifier: MIT
# For the suites of the pair: Redisson's RReadWriteLock beside `dlock run -s` and -x. Who holds or
# comes is one of these kinds: java-read, java-write, java (a plain RLock), dlock-s, dlock-x, dlock.
# The holder is the actor x or the dlock `a`, who waits is $Y or the dlock `b`.
# Loaded after interop.bash.
# shellcheck shell=bash disable=SC2016,SC2154  # for inner shells to expand; a_pid is set by spawn

# Of this test only: one that waits in vain obeys nothing else.
Y=y$BATS_TEST_NUMBER

# on NAME: the lock that is meant from now on.
on() {
  N=$1 K=dlock:$1
}

# word VERB KIND: what the driver calls it.
word() { case $2 in java-*) echo "$1.${2#java-}" ;; *) echo "$1" ;; esac; }
# options KIND: sets OPTIONS to what dlock calls it.
options() {
  OPTIONS=()
  case $1 in dlock-?) OPTIONS=("-${1#dlock-}") ;; esac
}

# takes KIND: with a lease of a minute, until it gives.
takes() {
  case $1 in
    java*) asked acquired x "$(word lock "$1")" "$K" 60000 ;;
    *) options "$1" && dlock_holds "${OPTIONS[@]}" --ttl 60s ;;
  esac
}
gives() {
  case $1 in
    java*) asked released x "$(word unlock "$1")" "$K" ;;
    *) let_go && ends 20s a "exit 0" ;;
  esac
}
given_at() {
  case $1 in
    java*) time_of x "$(word unlock "$1")" "$K" ;;
    *) cat "$T/a.ended" ;;
  esac
}

# tries KIND: prints whether it gets in now; if it does, it leaves at once.
tries() {
  local status=0
  case $1 in
    java*)
      case $(ask z "$(word try "$1")" "$K" 0 30000) in
        acquired) asked released z "$(word unlock "$1")" "$K" && echo in ;;
        refused) echo out ;;
      esac
      ;;
    *)
      options "$1"
      "$DLOCK" run -q -n "${OPTIONS[@]}" --ttl 30s "$N" -- true || status=$?
      case $status in 0) echo in ;; 75) echo out ;; *) echo "exit $status" ;; esac
      ;;
  esac
}
# are WANTED KIND…: each of them tries; prints who is not as wanted.
are() {
  local kind got bad=0
  for kind in "${@:2}"; do
    got=$(tries "$kind")
    [ "$got" = "$1" ] || { echo "$kind: $got, not $1" && bad=1; }
  done
  return "$bad"
}

# waits KIND: for as long as it takes. It has told so, unless it got in already.
waits() {
  case $1 in
    java*)
      tell "$Y" "$(word lock "$1")" "$K" 60000
      eventually 20s parked_or_said "$(word lock "$1")"
      ;;
    *)
      options "$1"
      rm -f "$T/b.began"
      dlock_run b "${OPTIONS[@]}" --ttl 60s "$N" -- sh -c 'date +%s%6N >$0/b.began' "$T"
      eventually 20s in_line_or_entered
      ;;
  esac
}
in_line_or_entered() { in_line 1 || entered; }
parked_or_said() { parked "$Y" || said "$Y" "$1" "$K"; }
in_line() { [ "$(r zcard "dlock:line:$(tag)")" = "$1" ]; }
# waits_still KIND
waits_still() {
  case $1 in
    java*) eventually 20s parked "$Y" ;; # if it has got in it will never be again
    *) ! entered && in_line 1 ;;
  esac
}
# gets_in KIND: long before a lease of a minute would have ended; once in a test for each kind and
# name. Java's goes when told.
gets_in() {
  case $1 in
    java*) says 20s "$Y" "$(word lock "$1")" "$K" acquired ;;
    *) ends 20s b "exit 0" ;;
  esac
}
in_at() {
  case $1 in
    java*) time_of "$Y" "$(word lock "$1")" "$K" ;;
    *) cat "$T/b.began" ;;
  esac
}
goes() { case $1 in java*) asked released "$Y" "$(word unlock "$1")" "$K" ;; esac }

# A lease of some seconds has a short kill-after below: the machine may stand still for as long as is
# left between a renewal and the TERM before the end of the lease.

# dlock_nests SECONDS OPTION…: a dlock `a` with one inside for each further option, until let_go.
dlock_nests() {
  local command i
  command=(sh -c 'date +%s%6N >$0/a.new; mv $0/a.new $0/a.began
    until [ -e $0/go ]; do sleep 0.02; done; date +%s%6N >$0/a.ended' "$T")
  for ((i = $#; i > 2; i--)); do
    command=("$DLOCK" run "${!i}" --ttl "${1}s" -k 300ms "$N" -- "${command[@]}")
  done
  rm -f "$T/go" "$T/a.began" "$T/a.ended"
  dlock_run a "$2" --ttl "${1}s" -k 500ms "$N" -- "${command[@]}"
  eventually 20s test -e "$T/a.began"
}

# dlock_writes_and_reads SECONDS: a dlock -x `a` with a -s inside that outlives it: it ends, and so
# gives up the write lock, once there is $T/down; the reader reads until let_go.
dlock_writes_and_reads() {
  rm -f "$T/go" "$T/down" "$T/reads" "$T/a.ended" "$T/r.ended"
  dlock_run a -x --ttl "${1}s" -k 500ms "$N" -- sh -c '
    setsid "$DLOCK" run -s --ttl "$2" -k 500ms "$1" -- sh -c "touch \$0/reads
      until [ -e \$0/go ]; do sleep 0.02; done; date +%s%6N >\$0/r.ended" "$0" &
    echo $! >$0/reader.pid
    until [ -e $0/down ]; do sleep 0.02; done; date +%s%6N >$0/a.ended' "$T" "$N" "${1}s"
  eventually 20s test -e "$T/reads"
}
dlock_downgrades() { touch "$T/down" && ends 20s a "exit 0"; }

# --- the server --------------------------------------------------------------------------------

tag() { case $K in *'{'*) echo "$K" ;; *) echo "{$K}" ;; esac; }

# layout: the lock and the leases of its readers, with LOCK for its name and OWNER for each owner.
layout() {
  local key
  {
    r hgetall "$K" | paste -d ' ' - - | sed '/^ $/d'
    for key in $(r keys "$(tag):*"); do echo "$key = $(r get "$key") $(expires "$key")"; done
    expires "$K"
  } | sed -E "s/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]+/OWNER/g; s/$K/LOCK/g" | sort
}
expires() {
  case $(r pttl "$1") in
    -2) ;;
    -1) echo "never expires" ;;
    *) echo expires ;;
  esac
}
# reader [BUT]: the owner of the only read hold there is but that of BUT.
reader() { r hkeys "$K" | grep -vxE "mode|${1:-}"; }
# read_end OWNER [N]: when its Nth read hold ends unless somebody renews it, in microseconds.
read_end() { echo $(($(r pexpiretime "$(tag):$1:rwlock_timeout:${2:-1}") * 1000)); }

# listens: from now on, what is published on the channel of the pair.
listens() {
  spawn ears redis-cli -s "$REDIS_SOCKET" subscribe "redisson_rwlock:$(tag)"
  eventually 20s grep -q subscribe "$T/ears.out"
}
# heard_words: all of it, on one line.
heard_words() {
  grep -A 2 -x message "$T/ears.out" | grep -vxE -- '--|message|redisson_rwlock.*' | paste -sd ' ' -
}
