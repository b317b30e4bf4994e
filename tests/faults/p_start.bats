#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What dlock needs to begin is short or missing: either it works, or nothing was started and
# nothing is left.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells

load ../support/suite
suite server faults ticker

listen() {
  redis-cli -s "$REDIS_SOCKET" monitor >"$T/monitor" 3>&- &
  STARTED+=($!)
  eventually 5s file_has "$T/monitor" OK
}
heard_all() {
  r echo "marker-$1" >/dev/null
  eventually 5s file_has "$T/monitor" "marker-$1"
}

@test "P12: where no thread can be started the main thread renews the lease" {
  make_cgroup pids
  in_cgroup
  spawn a "${IN_CGROUP[@]}" "$DLOCK" run --ttl 2s no-thread -- "$TICKER" "$T/ticks" for 6000
  eventually 10s file_has "$T/ticks"
  cgroup_set pids.max=0 # the first renewal comes after two thirds of a second
  eventually 30s ended a
  [ "$(cat "$T/a.end")" = "exit 0" ] || fail "$(cat "$T/a.end" "$T/a.err")"
  assert_free no-thread
}

@test "P11: no more than N processes: 125 and nothing left, or it works" {
  make_cgroup pids
  in_cgroup
  listen
  local limit asked=0
  for limit in 1 2 3 4 5 6 7 8; do
    cgroup_set pids.max="$limit"
    rm -f "$T/started"
    spawn a "${IN_CGROUP[@]}" "$DLOCK" run --ttl 60s "few-$limit" -- touch "$T/started"
    eventually 10s ended a
    heard_all "$limit"
    assert_free "few-$limit"
    [ "$(cat "$T/a.end")" != "exit 0" ] || break
    [ "$(cat "$T/a.end")" = "exit 125" ]
    [ ! -e "$T/started" ]
    [ "$(grep -c '^dlock: ' "$T/a.err")" = 1 ]
    # Without its command it releases what it took.
    ! grep -q "EVALSHA.*dlock:few-${limit}[^0-9]" "$T/monitor" || asked=1
  done
  [ "$(cat "$T/a.end")" = "exit 0" ]
  [ -e "$T/started" ]
  [ "$asked" = 1 ]
}

@test "P14: a command that the kernel does not know how to start is given to sh, others get 126" {
  printf 'exit 9\n' >"$T/no-magic"
  printf '\177ELF garbage' >"$T/bad-elf"
  chmod +x "$T/no-magic" "$T/bad-elf"
  run -9 "$DLOCK" run --ttl 60s magic -- "$T/no-magic"
  assert_free magic
  # As env(1), nohup(1) and flock(1) do, which use execvp(3) too.
  local direct=0
  env "$T/bad-elf" 2>/dev/null || direct=$?
  run -"$direct" "$DLOCK" run --ttl 60s magic -- "$T/bad-elf"
  assert_free magic
}

@test "P34: dlock is replaced on the disk while it runs" {
  cp "$DLOCK" "$T/dlock"
  spawn a "$T/dlock" run --ttl 4s -k 200ms replaced -- sh -c "touch $T/in; $(until_there "$T/go"); exit 5"
  eventually 10s test -e "$T/in"
  printf 'not a program\n' >"$T/new"
  mv "$T/new" "$T/dlock"
  sleep 4.5 # past a lease: it was renewed
  key_exists replaced
  touch "$T/go"
  ends 10s a "exit 5"
  assert_free replaced
}

# refuse CALL ERROR STATUS ARG…: dlock ARG… where the kernel refuses each CALL of it.
refuse() {
  run -"$3" --separate-stderr strace -f -qq -o "$T/trace" -e "trace=$1" -e "inject=$1:error=$2" "$DLOCK" "${@:4}"
}

@test "P41: a system call that a filter refuses is an error with the kernel's reason, and nothing is started" {
  command -v strace >/dev/null || skip "needs strace"
  local call
  for call in timerfd_create timerfd_settime eventfd2 epoll_create1 epoll_ctl epoll_wait signalfd4 \
    rt_sigprocmask getrandom pipe2 socketpair waitid; do
    refuse "$call" EPERM 125 run filter -- touch "$T/started"
    [[ $stderr == "dlock: cannot "*": operation not permitted" && ${#stderr_lines[@]} = 1 ]] ||
      { echo "$call: $stderr"; return 1; }
  done
  refuse eventfd2 EMFILE 125 run filter -- touch "$T/started"
  [[ $stderr == *": too many open files" ]]
  refuse poll EPERM 125 run filter -- touch "$T/started"
  [ -n "$stderr" ]
  refuse timerfd_create EPERM 125 wait filter
  [[ $stderr == *": operation not permitted" ]]
  refuse setpgid EPERM 126 run filter -- touch "$T/started" # it could not be killed
  [[ $stderr == *": operation not permitted" ]]
  [ ! -e "$T/started" ]
  assert_free filter
}
