#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A shell that ends in `exec dlock` leaves its background jobs to dlock as children. Promise: they, and
# what they start, are none of the command's: not told of, not waited for, not stopped and not killed.
# shellcheck disable=SC2013,SC2030,SC2031,SC2154,SC2016  # pids are words; a_pid is set by spawn; '…' is for inner shells

load ../support/suite
suite server ticker contain

teardown() {
  local pid
  for pid in $(cat "$T/older" 2>/dev/null); do ! is_ours "$pid" || kill -KILL "$pid"; done
  clean_up
}

# A background job of the shell, and another one that starts a daemon each 50 ms, which the shell adopts;
# their pids are in $T/older. Then the shell becomes dlock. With EMPTY the daemons have no environment.
OLDER='
  cd "$T" || exit
  sleep 60 & echo $! >$T/older
  (for _ in {1..200}; do (setsid ${EMPTY:+env -i} sleep 60 & echo $! >>$T/older) && sleep 0.05; done) &
  echo $! >>$T/older
  exec "$@"'
# Shell words: until three daemons more have come.
MORE='n=$(wc -l <$T/older); until [ $(wc -l <$T/older) -gt $((n + 3)) ]; do sleep 0.05; done;'

# after_others NAME ARG…: dlock_run by such a shell, behind the words BEFORE.
BEFORE=()
after_others() {
  export T
  spawn "$1" "${BEFORE[@]}" bash -c "$OLDER" bash "$DLOCK" run "${@:2}"
}

# None of them has come to harm.
all_older_live() {
  local pid
  for pid in $(cat "$T/older"); do alive "$pid" || { echo "$pid is dead"; return 1; }; done
}

@test "children that are older than dlock, and their orphans, are no processes of the command" {
  after_others a older -- sh -c "$MORE"
  ends 15s a "exit 0"
  [ ! -s "$T/a.err" ]
  all_older_live
}

@test "P40: a contained run does not wait for children that are older than dlock, nor for their orphans" {
  EMPTY=yes after_others a --contain older -- sh -c "$MORE"
  ends 15s a "exit 0"
  [ ! -s "$T/a.err" ]
  all_older_live
  assert_free older
}

@test "P40: a contained command is stopped at --max-hold, and children that are older than dlock are not" {
  after_others a --contain --max-hold 1s -k 200ms older -- sh -c "$(daemon ignore 15) sleep 61"
  ends 15s a "exit 124"
  ticker_gone
  all_older_live
  assert_free older
}

@test "signals to dlock do not reach children that are older" {
  after_others a --contain older -- sh -c "$(daemon) exec sleep 61"
  eventually 10s ticking
  kill -TERM "$a_pid"
  ends 15s a "signal 15"
  ticker_gone
  all_older_live
}

@test "beside older children a daemon of the command is told of" {
  after_others a older -- sh -c "$(daemon for 60000) $MORE"
  ends 15s a "exit 0"
  [ "$(grep -c ' 1 process of the command left its process group' "$T/a.err")" = 1 ]
  [ "$(wc -l <"$T/a.err")" = 1 ]
}

@test "beside older children a contained daemon is waited for, and what it starts without its environment" {
  need_no_cgroup
  BEFORE=("${NO_CGROUP[@]}")
  after_others a --contain older -- sh -c "setsid -f sh -c 'env -i $TICKER $TICKS for 700; true'
    until grep -qs tick $TICKS; do sleep 0.02; done"
  ends 15s a "exit 0"
  ticker_gone
  grep -q ' end$' "$TICKS"
  all_older_live
}

@test "beside older children a contained daemon that never had an environment is waited for" {
  need_no_cgroup
  BEFORE=("${NO_CGROUP[@]}")
  EMPTY=yes after_others a --contain older -- sh -c "env -i setsid -f $TICKER $TICKS for 700
    until grep -qs tick $TICKS; do sleep 0.02; done"
  ends 15s a "exit 0"
  ticker_gone
  grep -q ' end$' "$TICKS"
  all_older_live
}

@test "the init of a container does not take who enters it for the command's" {
  unshare -pf --mount-proc true 2>/dev/null || skip "no right to make a pid namespace"
  need_no_cgroup
  spawn a "${NO_CGROUP[@]}" unshare -pf --kill-child --mount-proc \
    "$DLOCK" run --contain --max-hold 20s init -- sh -c 'touch "$0/in"; until [ -e "$0/go" ]; do sleep 0.02; done' "$T"
  eventually 10s test -e "$T/in"
  local shell
  shell=$(pgrep -f "^sh -c touch.*$T\$")
  nsenter -t "$shell" -p -m setsid -f env -i sleep 62 >/dev/null 2>&1 3>&-
  touch "$T/go"
  ends 10s a "exit 0"
  [ ! -s "$T/a.err" ]
  assert_free init
}

@test "beside older children a contained daemon without an environment is waited for, by its cgroup" {
  need_cgroup
  after_others a --contain older -- sh -c "env -i setsid -f $TICKER $TICKS for 700
    until grep -qs tick $TICKS; do sleep 0.02; done"
  ends 15s a "exit 0"
  ticker_gone
  grep -q ' end$' "$TICKS"
  all_older_live
}
