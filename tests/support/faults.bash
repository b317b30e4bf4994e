# SPDX-License-Identifier: MIT
# Shared by tests/faults: small functions for the tests of single faults. A part of suite.bash.
# shellcheck shell=bash disable=SC2016,SC2034  # '…' is for inner shells; read by the suites

# until_there FILE: shell words that wait until FILE is there.
until_there() { printf 'until [ -e %q ]; do sleep 0.02; done' "$1"; }

# waiting_in_line NAME [COUNT]: succeeds if COUNT waiters are in line.
waiting_in_line() { [ "$(r zcard "dlock:line:{dlock:$1}")" = "${2:-1}" ]; }
# waiting_at_channel NAME [COUNT]: succeeds if COUNT waiters listen for changes of the lock: the
# first two in line do.
waiting_at_channel() {
  [ "$(r pubsub numsub "redisson_lock__channel:{dlock:$1}" | tail -1)" = "${2:-1}" ]
}

# make_cgroup CONTROLLER: makes an empty control group for this test; sets CGROUP. `freeze` and
# `kill` need no controller. Skips the test where no control group can be made.
make_cgroup() {
  local top=/sys/fs/cgroup
  [ "$(id -u)" = 0 ] || skip "needs root, for a control group"
  if [ -e "$top/$1/cgroup.procs" ]; then
    top=$top/$1
  else
    [ -e $top/cgroup.controllers ] || top=$top/unified
    [[ $1 =~ ^(freeze|kill)$ ]] || echo "+$1" 2>/dev/null >$top/cgroup.subtree_control ||
      skip "needs the control group controller $1"
  fi
  CGROUP=$top/dlock-test-$$-$BATS_TEST_NUMBER
  mkdir "$CGROUP" || skip "cannot make a control group here"
  CGROUPS+=("$CGROUP")
}

# cgroup_set FILE=VALUE…: writes to the first of these files that exists, because v1 and v2 have
# different names.
cgroup_set() {
  local pair
  for pair; do
    [ -e "$CGROUP/${pair%%=*}" ] || continue
    echo "${pair#*=}" >"$CGROUP/${pair%%=*}"
    return
  done
  return 1
}

# in_cgroup: sets IN_CGROUP to the words that, put before a command, run it in CGROUP.
in_cgroup() { IN_CGROUP=(sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$CGROUP"); }

# For teardown: ends what is still in the groups of this test, and removes them.
end_cgroups() {
  local group pid
  for group in "${CGROUPS[@]}"; do
    [ ! -e "$group/cgroup.freeze" ] || echo 0 >"$group/cgroup.freeze"
    while read -r pid; do kill -KILL "$pid" 2>/dev/null || true; done <"$group/cgroup.procs"
    eventually 5s rmdir "$group" 2>/dev/null
  done
}

# hold_thread NAME TID…: holds threads as a debugger does, until end_hold NAME.
hold_thread() {
  local name=$1
  shift
  python3 -S "$PROGRAMS/hold_thread.py" "$@" >"$T/$name.held" 2>&1 3>&- &
  printf -v "${name}_holder" %s $!
  STARTED+=($!)
  eventually 10s file_has "$T/$name.held" held || { cat "$T/$name.held"; return 1; }
}
end_hold() {
  local holder=${1}_holder
  kill -KILL "${!holder}"
}

# guard_of PID: prints the pid of the guard of this dlock; waits until the guard has set its name.
# other_guard PID OTHER: succeeds if this dlock has a guard and its pid is not OTHER.
guard_of() { eventually 10s pgrep -P "$1" -x lease-guard; }
other_guard() { local now; now=$(pgrep -P "$1" -x lease-guard) && [ "$now" != "$2" ]; }

# deaf_tree FILE: sets DEAF to a command that ticks into FILE in two processes, which both ignore
# TERM.
deaf_tree() {
  DEAF=(sh -c "trap '' TERM; $TICKER \$0 ignore 15 & exec $TICKER \$0 ignore 15" "$1")
}

# server_end_of NAME: prints when the server will end the lease of NAME, on the boot clock, in ms.
# It asks for the server's own time with the lease, so that it does not matter how long the answer
# takes.
server_end_of() {
  local end up
  end=$(r eval 'local now = redis.call("TIME")
    return now[1] * 1000 + math.floor(now[2] / 1000) + redis.call("PTTL", KEYS[1])' 1 "dlock:$1")
  read -r up _ </proc/uptime
  echo $((end - ${EPOCHREALTIME/./} / 1000 + ${up/./} * 10))
}

# dead_by MS [FILE]: checks that the ticking command is dead, and that its last tick was before MS
# of the boot clock.
dead_by() {
  eventually 10s ticker_gone "${2:-$TICKS}" || { echo "still ticking"; return 1; }
  local late
  late=$(late_by "$1" "${2:-$TICKS}")
  [ "$late" = 0 ] || { echo "the last tick came $late ms late"; return 1; }
}
