#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Late copies, lost messages, vanished holders and forced hand-overs: nobody's lock is touched by
# another, and nobody waits for what has happened already.
# *_pid are set by spawn; '…' is for inner shells; every test is a shell of its own.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../support/suite
suite server ticker faults

@test "K07: a late copy of a release does not touch the next hold" {
  start_proxy
  local release words
  DLOCK_URL=$PROXY_URL run -0 "$DLOCK" run late -- true
  # The proxy's log has the commands by their words: the last one was the release.
  release=$(grep EVALSHA "$PROXY_LOG" | tail -1)
  read -ra words <<<"${release#* }"
  dlock_run a late -- sh -c "touch $T/in; $(until_there "$T/go"); exit 5"
  eventually 10s test -e "$T/in"
  local before
  before="$(r hgetall dlock:late) $(r hgetall 'dlock:holds:{dlock:late}')"
  [ "$(r "${words[@]}")" = not_held ]
  [ "$(r hgetall dlock:late) $(r hgetall 'dlock:holds:{dlock:late}')" = "$before" ]
  touch "$T/go"
  ends 10s a "exit 5"
  [ ! -s "$T/a.err" ]
  assert_free late
}

@test "K09: force-release --now says that two may run, and the holder stops within the bound" {
  dlock_run a --ttl 12s -k 1s now -- "$TICKER" "$TICKS" ignore 15
  eventually 10s ticking
  local at
  at=$(boot_ms)
  run -0 "$DLOCK" force-release --now --yes now
  [[ $output == *"pid $a_pid"*"may still run when the next holder starts" ]]
  run -0 "$DLOCK" run -n now -- sh -c 'echo $DLOCK_TOKEN'
  ends 20s a "exit 79"
  ticker_gone
  # A third of the lease, one call, the short grace; and some time for a busy machine.
  [ $(($(last_tick) - at)) -le $((4000 + 1200 + 1000 + 2000)) ]
  assert_free now
}

# Takes and gives the lock COUNT times; each holder writes its token and owner to a file.
take_often() {
  local i
  for ((i = 0; i < $1; i++)); do
    "$DLOCK" run --ttl 60s contested -- \
      sh -c 'echo "$DLOCK_TOKEN $DLOCK_OWNER" >>"$0"' "$T/holders" || return 1
  done
}

@test "K10: force-release with the holder before's token or owner refuses, 200 hand-overs" {
  : >"$T/holders"
  take_often 100 2>"$T/one.err" 3>&- &
  local one=$! two code last tries=0
  take_often 100 2>"$T/two.err" 3>&- &
  two=$!
  STARTED+=("$one" "$two")
  while kill -0 "$one" 2>/dev/null || kill -0 "$two" 2>/dev/null; do
    last=$(tail -2 "$T/holders" | head -1)
    [ -n "$last" ] && [ "$(wc -l <"$T/holders")" -ge 2 ] || continue
    code=0
    "$DLOCK" force-release --now --yes --if-token "${last% *}" contested 2>/dev/null || code=$?
    [ "$code" = 75 ] || [ "$code" = 1 ] # another's now, or nobody's
    code=0
    "$DLOCK" force-release --now --yes --if-owner "${last#* }" contested 2>/dev/null || code=$?
    [ "$code" = 75 ] || [ "$code" = 1 ]
    tries=$((tries + 1))
  done
  wait "$one"
  wait "$two"
  [ "$(wc -l <"$T/holders")" = 200 ]
  [ "$tries" -ge 10 ]
  # Nobody lost a lock: a holder would have said so.
  run ! grep -v waiting "$T/one.err" "$T/two.err"
  assert_free contested
}

@test "K11 P03: holder and guard vanish without a message: the waiter is admitted when the lease ends" {
  dlock_run a --ttl 2s vanished -- sh -c "echo \$\$ >$T/command.pid; exec sleep 60"
  eventually 10s file_has "$T/command.pid"
  dlock_run b -w 30 vanished -- "$TICKER" "$T/ticks-b" for 20
  eventually 10s waiting_in_line vanished
  local guard
  guard=$(guard_of "$a_pid")
  kill -STOP "$a_pid"
  kill -KILL "$guard" "$a_pid"
  local at
  at=$(boot_ms)
  ends 10s a "signal 9"
  ends 20s b "exit 0"
  # One lease from its last renewal, and some time for a busy machine.
  [ $(($(first_tick "$T/ticks-b") - at)) -le 4500 ]
  assert_free vanished
}

@test "K12: released between trying and subscribing: granted at once" {
  start_proxy
  local round at took least=99999
  for round in 1 2 3; do
    rm -f "$T/in" "$T/go"
    dlock_run a --ttl 60s between -- sh -c "touch $T/in; $(until_there "$T/go")"
    eventually 10s test -e "$T/in"
    proxy hold 1 SUBSCRIBE 500
    : >"$PROXY_LOG"
    DLOCK_URL=$PROXY_URL dlock_run b --ttl 60s between -- "$TICKER" "$T/ticks-$round" for 1
    eventually 10s grep -q '^-- hold' "$PROXY_LOG"
    at=$(boot_ms)
    touch "$T/go"
    ends 10s a "exit 0"
    ends 10s b "exit 0"
    took=$(($(first_tick "$T/ticks-$round") - at))
    [ "$took" -ge "$least" ] || least=$took
    assert_free between
  done
  # Whoever only waits for a message looks again after 3 to 5 s.
  [ "$least" -lt 2500 ]
}

@test "K12: two hundred hand-overs between two that always want it: no wake-up is lost" {
  : >"$T/holders"
  take_often 100 2>/dev/null 3>&- &
  local one=$! two
  take_often 100 2>/dev/null 3>&- &
  two=$!
  STARTED+=("$one" "$two")
  wait "$one"
  wait "$two"
  [ "$(wc -l <"$T/holders")" = 200 ]
  # A single lost one would cost a lease of 60 s, or a look after 3 s. Tokens are the µs of the grants.
  awk '{ gap = $1 - last; last = $1 } NR > 1 && gap > longest { longest = gap }
    NR > 1 && gap > 2400000 { gaps++ }
    END { print gaps + 0, "of more than 2.4 s, at most", longest, "µs"; exit gaps > 5 || longest > 30000000 }' "$T/holders"
}

@test "K13: the first of five waiters is killed, the second is stopped: the others get in, in order" {
  dlock_run a --ttl 60s line -- sh -c "touch $T/in; $(until_there "$T/go")"
  eventually 10s test -e "$T/in"
  local i
  for i in 1 2 3 4 5; do
    dlock_run "w$i" --ttl 60s line -- sh -c "echo $i >>$T/order"
    eventually 10s waiting_in_line line "$i"
  done
  kill -KILL "$w1_pid"
  kill -STOP "$w2_pid"
  touch "$T/go"
  ends 10s a "exit 0"
  for i in 3 4 5; do ends 20s "w$i" "exit 0"; done
  [ "$(tr -d '\n' <"$T/order")" = 345 ]
  kill -CONT "$w2_pid"
  ends 20s w2 "exit 0"
  ends 5s w1 "signal 9"
  assert_free line
  [ "$(r exists "dlock:line:{dlock:line}" "dlock:waiters:{dlock:line}")" = 0 ]
}

# Waits through the proxy for a lock that goes free; the answer to what it then gets is lost.
granted_unheard() { # TTL LIMIT COMMAND…
  local ttl=$1 limit=$2
  shift 2
  start_proxy
  r hset dlock:unheard foreign:1 1 >/dev/null
  DLOCK_URL=$PROXY_URL dlock_run a -w 60 --ttl "$ttl" --connect-timeout "$limit" unheard -- "$@"
  eventually 10s waiting_in_line unheard
  proxy drop 1 EVALSHA mute
  r del dlock:unheard >/dev/null
  r publish 'redisson_lock__channel:{dlock:unheard}' 0 >/dev/null
  eventually 10s grep -q '^-- dropped' "$PROXY_LOG"
}

@test "K20: an acquire that is repeated long after it was carried out: dead before the lease ends" {
  granted_unheard 3s 1s "$TICKER" "$TICKS" ignore 15 fork
  dlock_run b -w 60 unheard -- "$TICKER" "$T/ticks-b" for 20
  # The second try gets through, and nothing after it.
  eventually 10s ticking
  proxy blackhole
  local server_end
  server_end=$(server_end_of unheard)
  ends 10s a "exit 79"
  ends 10s b "exit 0"
  ticker_gone
  [ "$(late_by "$server_end")" = 0 ]
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-b")" ]
  assert_free unheard
}

@test "K20: a repeated acquire whose answer takes too long is released, nothing is started" {
  granted_unheard 6s 3s touch "$T/started"
  proxy delay 1000 # each way: what is left then is less than a start needs
  ends 20s a "exit 69"
  grep -q 'too slow' "$T/a.err"
  [ ! -e "$T/started" ]
  proxy pass
  eventually 8s is_free unheard
}
