# SPDX-License-Identifier: MIT
# For the suites with more than one server: the same two scenarios on each kind of set. The lease is a
# minute, and a dlock that is not woken looks again after 3 s: `figure` tells a message from both.
# Loaded after interop.bash.
# shellcheck shell=bash disable=SC2034,SC2154  # for interop.bash

setup() {
  set_up
  feel_pulse
}

# each_time NUMBER: another name, and so another slot.
each_time() {
  N=t$BATS_TEST_NUMBER-$1 K=dlock:$N
}

dlock_is_excluded_and_woken() { # SET
  local i
  for i in {1..5}; do
    each_time "$i"
    asked acquired x lock "$K" 60000
    dlock_is_refused
    dlock_waits --ttl 60s
    run ! entered
    asked released x unlock "$K"
    ends 20s b "exit 0"
    not_before "$(cat "$T/b.began")" "$(time_of x unlock "$K")"
    echo "$(time_of x unlock "$K") $(cat "$T/b.began")" >>"$T/times"
  done
  figure "$1: from their release to dlock's command" <"$T/times"
}

they_are_excluded_and_woken() { # SET
  local i
  for i in {1..5}; do
    each_time "$i"
    dlock_holds --ttl 60s
    asked refused x try "$K" 200 30000
    tell "y$i" lock "$K" 60000
    eventually 20s parked "y$i"
    let_go
    ends 20s a "exit 0"
    says 20s "y$i" lock "$K" acquired
    not_before "$(time_of "y$i" lock "$K")" "$(cat "$T/a.ended")"
    echo "$(cat "$T/a.ended") $(time_of "y$i" lock "$K")" >>"$T/times"
    dlock_is_refused
    asked released "y$i" unlock "$K"
  done
  figure "$1: from dlock's command to their lock" <"$T/times"
}
