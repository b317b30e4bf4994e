# SPDX-License-Identifier: MIT
# Shared by cli suites: acquire as a script uses it.
# shellcheck shell=bash
# shellcheck disable=SC2034  # for the suites

# take WORD…: acquires as a script would.
take() {
  local told
  told=$("$DLOCK" acquire "$@") || return
  eval "$told"
}
owner_of() { r --raw hkeys "dlock:$1" | grep -vx mode; }
# Prints all that the store knows of a lock; the text changes only if the lock changes.
state_of() {
  r hgetall "dlock:$1"
  r hgetall "dlock:holds:{dlock:$1}" | sort
  r zrange "dlock:line:{dlock:$1}" 0 -1
}
somebody=6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57
