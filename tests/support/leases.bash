# SPDX-License-Identifier: MIT
# For the suites in which a holder loses its lease: a command that ignores TERM, and checks of the
# time of its last instruction. A part of suite.bash.
# shellcheck shell=bash disable=SC2154  # T, TICKS and TICKER are set by supervise.bash

# A command that does not want to end, with a process in the background.
# shellcheck disable=SC2016  # for the inner shell
deaf='trap "" TERM; echo "$DLOCK_TOKEN" >"$0.token"
  $TICKER "$0" ignore 15 & exec $TICKER "$0" ignore 15'

# hold_as WHO NAME [OPTION…]: starts a holder whose command ignores TERM, with a lease of 3 s. The
# command ticks into $T/ticks-WHO and leaves its fencing token there. HOLD_BY may name a function to
# use in place of dlock_run.
hold_as() {
  local who=$1 name=$2
  shift 2
  "${HOLD_BY:-dlock_run}" "$who" --ttl 3s "$@" "$name" -- sh -c "$deaf" "$T/ticks-$who"
  eventually 10s two_tick "$T/ticks-$who" || { echo "no lock for $who"; cat "$T/$who.err"; return 1; }
}
# hold_deaf NAME [OPTION…]: hold_as for the holder `a`, which ticks into $TICKS.
hold_deaf() {
  ln -sf "$TICKS" "$T/ticks-a"
  : >"$TICKS"
  hold_as a "$@"
}
token_of() { cat "$T/ticks-$1.token"; }

# stopped_in_time_after AT [WHO]: checks that the command stopped in time after a loss that a master
# confirmed and dlock reported. Allowed are a renewal interval, a call, the short grace and some
# slack; the lease itself may end before that.
stopped_in_time_after() {
  local took who=${2:-a}
  ends 10s "$who" "exit 79"
  grep -q 'lost "' "$T/$who.err"
  ticker_gone "$T/ticks-$who"
  took=$(($(last_tick "$T/ticks-$who") - $1))
  [ "$took" -le $((1000 + 300 + 1000 + 2000)) ] || { echo "the last tick came after $took ms"; return 1; }
}

# dead_before_the_end_of_the_lease AT [WHO]: checks that every process of the command was dead
# within one lease after AT. AT is read after the connection was cut, so nothing was confirmed
# later. There must be no message `lost`, because there was no verdict.
dead_before_the_end_of_the_lease() {
  local late who=${2:-a}
  ends 10s "$who" "exit 79"
  ticker_gone "$T/ticks-$who"
  late=$(late_by $(($1 + 3000)) "$T/ticks-$who")
  [ "$late" = 0 ] || { echo "the last tick came $late ms late"; return 1; }
  # shellcheck disable=SC2314  # the last line
  ! grep 'lost "' "$T/$who.err"
}

# listen: from here on, all commands that reach the server are written to $T/monitor.
listen() {
  redis-cli -s "$REDIS_SOCKET" monitor >"$T/monitor" 3>&- &
  STARTED+=($!)
  eventually 5s file_has "$T/monitor" OK
}
# hear_out: waits until all that has reached the server by now is in $T/monitor.
hear_out() {
  local mark=marker-$RANDOM
  r echo "$mark" >/dev/null
  eventually 5s file_has "$T/monitor" "$mark"
}
never_recreated() { hear_out && ! grep -qiE "lua\] \"(hset|hincrby|set|hsetnx)\" \"dlock:$1\" " "$T/monitor"; }
# Prints how often the holder NAME has renewed LOCK (dlock_run -v NAME LOCK).
renewals() { grep -c "renewed \"$2\"" "$T/$1.err" || true; }
renewed_more_than() { [ "$(renewals "$1" "$2")" -gt "$3" ]; }
