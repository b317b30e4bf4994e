# SPDX-License-Identifier: MIT
# Shared by cli suites: what inspect says of a lock, and an owner of a Java client.
# shellcheck shell=bash
# shellcheck disable=SC2034  # for the suites

java=6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57
# lock_is EXPRESSION WANT [NAME]: of the first lock in inspect --json
lock_is() {
  local got
  got=$("$DLOCK" inspect --json "${3:-$(fresh)}" | json "d['locks'][0]$1")
  [ "$got" = "$2" ] || fail "$1 is $got, not $2"
}

# more [OPTION…]: starts one more holder, in a shell of its own.
more() {
  env -u DLOCK_HOLDS "$DLOCK" acquire "$@" "$(fresh)"
}
us() { printf %s "$(id -un)@$(hostname) pid"; }
