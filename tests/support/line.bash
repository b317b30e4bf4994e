# SPDX-License-Identifier: MIT
# For the suites in which many wait for one lock: waiters that stand in a known order, and in what
# order, when and at what cost they enter. A part of suite.bash.
# shellcheck shell=bash disable=SC2154  # T is set by supervise.bash

# Each waiter that gets the lock writes its number and the time in seconds, and ends.
# shellcheck disable=SC2016  # for the inner shell
note_entry='read -r t _ </proc/uptime; echo "$0 $t" >>"$1"'

new_line() {
  WAITERS=()
  : >"$T/entered"
}

in_line() { r zcard "dlock:line:{dlock:$1}"; }
# subscribers NAME COUNT: succeeds if COUNT waiters have subscribed to their turns.
subscribers() { [ "$(r pubsub channels "dlock:turn:{dlock:$1}:*" | wc -l)" = "$2" ]; }
stands() { [ "$(in_line "$1")" = "$2" ]; }

# stand NAME NUMBER [OPTION…]: starts a waiter and returns when it is in line, behind all earlier
# ones.
stand() {
  local name=$1 number=$2 before
  shift 2
  before=$(in_line "$name")
  "$DLOCK" run "$@" "$name" -- sh -c "$note_entry" "$number" "$T/entered" \
    2>"$T/waiter-$number.err" 3>&- &
  WAITERS[number]=$!
  eventually 20s stands "$name" $((before + 1)) ||
    fail "waiter $number does not stand: $(cat "$T/waiter-$number.err")"
}
stand_all() { # NAME FROM TO
  local number
  for ((number = $2; number <= $3; number++)); do stand "$1" "$number"; done
}

entries() { wc -l <"$T/entered"; }
entered() { [ "$(entries)" -ge "$1" ]; }
order() { awk '{print $1}' "$T/entered" | xargs; }
assert_order() { [ "$(order)" = "$*" ] || fail "in this order: $(order)"; }
now() { awk '{print $1}' /proc/uptime; }

# commands_since_reset: prints how many commands clients have sent, without those of redis-cli and
# those within scripts.
commands_since_reset() {
  r info commandstats | tr -d '\r' |
    sed -nE 's/^cmdstat_(evalsha|eval|subscribe|unsubscribe|auth|select|hello|client\|[a-z]+):calls=([0-9]+),.*/\2/p' |
    awk '{ n += $1 } END { print n + 0 }'
}

# For teardown: ends the remaining waiters.
end_line() {
  end_ours "${WAITERS[@]}"
}
