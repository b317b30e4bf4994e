#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a holder whose lock is deleted, overwritten, flushed or revoked is told by the server and
# stops its command at once; where the server may not tell it, at the next renewal, and -v says why.
# LINE_BIG=1: fifty tries of each.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells
load ../support/suite
suite server empty ticker cli leases

# at_once TRIES COMMAND…: the command under the lock is gone at once as a rule, and always long before
# the next renewal (10 s).
at_once() {
  local tries=$1
  shift
  [ -z "${LINE_BIG:-}" ] || tries=50
  run -0 --separate-stderr python3 "$PROGRAMS/loss_times.py" "$DLOCK" "$REDIS_SOCKET" "$tries" "$@"
  echo "# $* with $tries tries, in ms: $output" >&3
  awk '{exit !($2 < 500 && $6 < 5000)}' <<<"$output" || fail "$output"
}
tracked() { r info clients | grep -q "^tracking_clients:$1"; }
as_user() { # RULE…: dlock is a user with all rights but for these
  r acl setuser worker reset on '>sesame' '~*' '&*' +@all "$@" >/dev/null
  export DLOCK_URL=redis+unix://worker:sesame@$REDIS_SOCKET
}
two_wait() { [ "$(r zcard 'dlock:line:{dlock:calm}')" = 2 ]; }

@test "R10: DEL: the command is gone in milliseconds" { at_once 20 DEL LOCK; }

@test "R12: SET over the lock: the command is gone in milliseconds" { at_once 20 SET LOCK theirs; }

@test "R09: FLUSHALL: the command is gone in milliseconds" { at_once 5 FLUSHALL; }

@test "R13: RENAME: the command is gone in milliseconds" { at_once 5 RENAME LOCK elsewhere; }

@test "a holder whose idle connection was closed gets messages again, long before its next renewal" {
  dlock_run a --ttl 120s closed -- sleep 60
  eventually 10s tracked 1
  local began
  began=$(boot_ms)
  # The one that asks; the one that listens stays. No news can come until dlock has noticed.
  r client kill type normal skipme yes >/dev/null
  eventually 10s tracked 1
  r del dlock:closed
  ends 15s a "exit 79"
  began=$(($(boot_ms) - began))
  [ "$began" -lt 25000 ] || fail "that was the renewal: $began ms"
}

@test "K08: force-release of a live holder is done in a second plus the end of its command" {
  local began
  dlock_run a revoked -- sleep 60
  eventually 10s tracked 1
  began=$(boot_ms)
  run -0 "$DLOCK" force-release --yes revoked
  began=$(($(boot_ms) - began))
  echo "# force-release: $began ms" >&3
  [ "$began" -lt 3000 ]
  ends 5s a "exit 79"
  assert_free revoked
}

@test "a nested run notices as well, and the processes of both are gone" {
  dlock_run a outer -- "$DLOCK" run outer -- "$TICKER" "$TICKS"
  eventually 10s ticking
  eventually 10s tracked 2
  r del dlock:outer >/dev/null
  ends 5s a "exit 79"
  ticker_gone
}

@test "with --on-lost warn dlock reports the loss at once, and the command runs on" {
  dlock_run a --on-lost warn warned -- sh -c "until [ -e $T/go ]; do sleep 0.02; done; exit 4"
  eventually 10s tracked 1
  r del dlock:warned >/dev/null
  eventually 5s grep -q 'lost "warned"' "$T/a.err"
  touch "$T/go"
  ends 5s a "exit 4"
}

# looks: how often the holder has looked at its lock, by the three keys of that script.
looks() { grep -cE '"EVALSHA" "[0-9a-f]+" "3" "dlock:calm"' "$T/monitor" || true; }
looked() { [ "$(looks)" -ge 1 ]; }
no_news() { # [HOW WANTED]: the options of who holds, and of who waits
  local before began seen
  listen
  # shellcheck disable=SC2086  # words on purpose
  dlock_run a --ttl 600s ${1:-} calm -- sleep 60
  eventually 10s tracked 1
  eventually 10s looked # which follows
  # shellcheck disable=SC2086
  dlock_run b ${2:-} calm -- true
  # shellcheck disable=SC2086
  dlock_run c ${2:-} calm -- true
  eventually 10s two_wait
  settle
  hear_out
  seen=$(looks)
  began=$(boot_ms)
  before=$(evalshas)
  r set other x >/dev/null
  r del other >/dev/null
  r set 'dlock:calm2' x >/dev/null
  sleep 3.2 # each waiter tells that it lives, every 2.5 to 3 s
  before=$(($(evalshas) - before))
  [ "$before" -le $((2 + 2 * ($(boot_ms) - began) / 2500)) ] || fail "$before scripts"
  hear_out
  [ "$(looks)" = "$seen" ] || fail "it looked: $(cat "$T/monitor")"
  kill "$a_pid"
  ends 5s a "signal 15"
  ends 5s b "exit 0"
  ends 5s c "exit 0"
}
@test "changes of other keys, own renewals and waiters cause no command to the server" {
  no_news
}
@test "nor do they for a holder that other readers may join" { no_news -s -x; }
# bats test_tags=nightly
@test "nor do they for the holder of a slot" { no_news "--slots 1" "--slots 1"; }

@test "a loss in the first second is noticed when that is over" {
  dlock_run a early -- sleep 60
  eventually 5s key_exists early
  r del dlock:early >/dev/null
  ends 6s a "exit 79"
}

@test "the connection that listens is cut: the holder listens again, and notices" {
  dlock_run a deaf -- sleep 60
  eventually 10s tracked 1
  r client kill type pubsub >/dev/null
  eventually 10s listens_again
  eventually 10s tracked 1
  r del dlock:deaf >/dev/null
  ends 6s a "exit 79"
}
listens_again() { [ "$(r pubsub numsub __redis__:invalidate | tail -1)" = 1 ]; }

@test "the connection that asks is cut: the next renewal connects again, and keys are tracked again" {
  dlock_run a --ttl 3s cut -- sleep 60
  eventually 10s tracked 1
  # At once, or the next renewal could come in between.
  printf '%s\n' multi 'client kill type normal' 'info clients' exec | r >"$T/said"
  grep -q '^tracking_clients:0' "$T/said"
  eventually 10s tracked 1
  r del dlock:cut >/dev/null
  ends 6s a "exit 79"
}

# blind RULE…: a user for whom the server does not track: it is said why, and the next renewal tells.
blind() {
  local at took
  as_user "$@"
  dlock_run a -v --log-format json --ttl 6s blind -- "$TICKER" "$TICKS"
  eventually 10s ticking
  eventually 5s grep -q '"event":"untracked"' "$T/a.err" || { cat "$T/a.err"; return 1; }
  [[ $(python3 -S "$PROGRAMS/events.py" "$T/a.err" get untracked text) == *NOPERM* ]]
  [ "$(python3 -S "$PROGRAMS/events.py" "$T/a.err" get untracked level)" = info ]
  eventually 5s grep -q '"event":"renewed"' "$T/a.err"
  tracked 0
  at=$(boot_ms)
  r del dlock:blind >/dev/null
  ends 10s a "exit 79"
  took=$(($(last_tick) - at))
  echo "# without $*: $took ms" >&3
  [ "$took" -lt 6000 ]
}

@test "tracking refused: noticed at the next renewal, and -v says why" { blind -client +client\|id; }

@test "the channel of changes refused: noticed at the next renewal, and -v says why" {
  blind resetchannels '&redisson_lock__channel:*' '&dlock:turn:*'
}
