# SPDX-License-Identifier: MIT
# Shared by cli suites: what inspect says of a lock, and an owner of a Java client.
# shellcheck shell=bash
# shellcheck disable=SC2034  # for the suites

java=6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57
# lock_is EXPRESSION WANT [NAME]: checks that EXPRESSION of the first lock in the output of inspect
# --json is WANT.
lock_is() {
  local got
  got=$("$DLOCK" inspect --json "${3:-$(fresh)}" | json "d['locks'][0]$1")
  [ "$got" = "$2" ] || fail "$1 is $got, not $2"
}

# more [OPTION…]: acquires the lock for one more holder, as another shell would.
more() {
  env -u DLOCK_HOLDS "$DLOCK" acquire "$@" "$(fresh)"
}
us() { printf %s "$(id -un)@$(hostname) pid"; }
