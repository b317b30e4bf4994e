# SPDX-License-Identifier: MIT
# Shared by tests/faults: small words for the tests of single faults. Loaded after supervise.bash.
# shellcheck shell=bash

# until_there FILE: shell words that wait until FILE is there.
until_there() { printf 'until [ -e %q ]; do sleep 0.02; done' "$1"; }

# waiting_at_channel NAME [COUNT]: so many waiters are subscribed.
waiting_at_channel() {
  [ "$(r pubsub numsub "redisson_lock__channel:{dlock:$1}" | tail -1)" = "${2:-1}" ]
}
