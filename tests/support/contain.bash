# SPDX-License-Identifier: MIT
# For the suites of --contain: daemons, and runs with and without a cgroup. A part of suite.bash.
# shellcheck shell=bash disable=SC2016  # '…' is for inner shells

# The cgroups that a killed dlock leaves; clean_up removes them.
MADE=()
remove_made() {
  local cgroup
  for cgroup in "${MADE[@]}"; do
    [ ! -e "$cgroup" ] || eventually 5s rmdir "$cgroup"
  done
}

# daemon [ARG…]: prints shell words that start a ticker as a daemon, an orphan in a session of its
# own, and then wait until it ticks.
daemon() {
  printf 'setsid -f %q %q %s; until grep -qs tick %q; do sleep 0.02; done;' \
    "$TICKER" "$TICKS" "$*" "$TICKS"
}

# Sets CGROUP to the cgroup in which dlock makes cgroups of its own. Skips the test if dlock cannot
# make any here.
need_cgroup() {
  CGROUP=$(awk '/ - cgroup2 / {at = $5} END {print at}' /proc/self/mountinfo)
  [ -n "$CGROUP" ] || skip "needs a cgroup v2"
  CGROUP+=$(sed -n 's/^0:://p' /proc/self/cgroup)
  CGROUP=${CGROUP%/}
  local probe=$CGROUP/dlock-test-$$
  mkdir "$probe" 2>/dev/null || skip "no right to make a cgroup"
  local kills=yes
  [ -w "$probe/cgroup.kill" ] || kills=no
  rmdir "$probe"
  [ "$kills" = yes ] || skip "needs cgroup.kill, Linux 5.14"
}

# Words to put before a command, which then runs where no cgroup can be made.
NO_CGROUP=(unshare -m sh -c 'awk "/ - cgroup2 / {print \$5}" /proc/self/mountinfo |
    while read -r at; do
      mount --bind "$at" "$at" && mount -o remount,bind,ro "$at" || exit 99
    done || exit 99
  exec "$@"' sh)
need_no_cgroup() { unshare -m true 2>/dev/null || skip "no right to make a mount namespace"; }

# without_cgroup NAME ARG…: as dlock_run, but where no cgroup can be made.
without_cgroup() {
  need_no_cgroup
  spawn "$1" "${NO_CGROUP[@]}" "$DLOCK" run "${@:2}"
}
