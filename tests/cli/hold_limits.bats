#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: --max-hold and --no-renew end the command in time, with 124; --min-hold keeps the lock and
# not dlock, so that hosts whose clocks differ run a job once.
# MODES_FULL=1: the ticks are those of a real cron, three minutes of them.
# shellcheck disable=SC2154,SC2016,SC2153  # *_pid and TICKS are set by helpers; '…' is for inner shells
load ../support/suite
suite server empty ticker clock_shim modes leases clocks

# held_for_ms: how long it was held from the grant on, as $T/result says: more than what the ticker
# has seen of it.
held_for_ms() { json 'd["held_ms"]' <"$T/result"; }
# lasted: how long the ticker ran, in ms.
lasted() { echo $(($(last_tick) - $(first_tick))); }

# --- --max-hold --------------------------------------------------------------------------------

@test "--max-hold: the command is stopped, 124, and the lock is free" {
  dlock_run a --max-hold 1s --result-file "$T/result" lim -- "$TICKER" "$TICKS" fork
  ends 20s a "exit 124"
  ticker_gone
  assert_free lim
  [ "$(held_for_ms)" -ge 1000 ]
  grep -q '"lim": --max-hold 1s has passed; stopping the command' "$T/a.err"
  # The first signal is TERM, not KILL.
  new_files
  : >"$TICKS"
  dlock_run a --max-hold 1500ms lim -- "$TICKER" "$TICKS" catch 15
  eventually 20s grep -q signal-15 "$TICKS"
}

@test "--max-hold: 124 whatever the command then returns" {
  local code
  for code in 0 7 75; do
    dlock_run "c$code" --max-hold 1500ms "lim$code" -- sh -c "trap 'exit $code' TERM; touch $T/in-$code; while :; do sleep 0.02; done"
  done
  for code in 0 7 75; do
    ends 20s "c$code" "exit 124"
    [ -e "$T/in-$code" ]
    assert_free "lim$code"
  done
}

@test "--max-hold: a command that ignores TERM is killed after --kill-after, 124" {
  dlock_run a --max-hold 1500ms -k 1s --result-file "$T/result" lim -- \
    "$TICKER" "$TICKS" ignore 15 fork
  ends 20s a "exit 124"
  ticker_gone
  assert_free lim
  [ "$(held_for_ms)" -ge 2500 ]
}

@test "--max-hold: --signal is the first signal here as well" {
  dlock_run a --max-hold 1500ms --signal USR1 lim -- "$TICKER" "$TICKS" catch 10 ignore 15
  eventually 20s grep -q signal-10 "$TICKS"
  kill -KILL "$(awk '{print $2; exit}' "$TICKS")"
  ends 20s a "exit 124"
}

@test "--max-hold: a command that ends in time is not touched, and has its own code" {
  dlock_run a --max-hold 60s lim -- sh -c 'exit 7'
  ends 20s a "exit 7"
  run ! grep -q dlock: "$T/a.err"
}

@test "--max-hold counts from the grant, not from the start of waiting" {
  enter h lim
  dlock_run a --max-hold 2s lim -- "$TICKER" "$TICKS" for 300 code 5
  sleep 2.5
  go h
  ends 20s a "exit 5"
}

@test "--max-hold: a TERM in its grace does not change the 124, and a second one kills at once" {
  dlock_run a --ttl 60s -k 30s --max-hold 1500ms lim -- "$TICKER" "$TICKS" catch 15
  eventually 20s grep -q signal-15 "$TICKS"
  kill -TERM "$a_pid"
  sleep 0.3
  ended a || kill -TERM "$a_pid" || true
  ends 15s a "exit 124"
  ticker_gone
  assert_free lim
}

# bats test_tags=nightly
@test "--max-hold: a command that the user stops meanwhile has its own status" {
  dlock_run a --ttl 60s -k 20s --max-hold 4s lim -- sh -c "trap 'sleep 4.5; exit 3' TERM; touch $T/in; while :; do sleep 0.02; done"
  eventually 10s test -e "$T/in"
  kill -TERM "$a_pid"
  ends 20s a "exit 3"
}

@test "--max-hold ends also what a command under --contain left behind" {
  dlock_run a --contain --max-hold 1s -k 500ms lim -- sh -c "setsid $TICKER $TICKS ignore 15 &
    $TICKER $TICKS ignore 15 & until [ -s $TICKS ]; do sleep 0.02; done; exit 0"
  ends 20s a "exit 124"
  ticker_gone
  assert_free lim
}

@test "limits that make no sense are refused" {
  refused 64 'max-hold' --max-hold 0 lim
  refused 64 'm..-hold' --min-hold 10s --max-hold 5s lim
  refused 64 '' --max-hold x lim
  refused 64 '' --min-hold=-1 lim
}

@test "--max-hold without a server" {
  in_a_directory
  dlock_run a --max-hold 500ms lim -- "$TICKER" "$TICKS"
  ends 20s a "exit 124"
  ticker_gone
  run -0 "$DLOCK" run -n lim -- true
}

# --- --no-renew --------------------------------------------------------------------------------

@test "--no-renew: the command is stopped before the lease is over, 124, and nothing is renewed" {
  listen
  dlock_run b --ttl 4s -k 200ms ren -- sleep 4.7
  dlock_run a --no-renew --ttl 3s -k 500ms fix -- "$TICKER" "$TICKS" fork
  ends 20s a "exit 124"
  ticker_gone
  [ "$(lasted)" -ge 1000 ]
  [ "$(late_by $(($(first_tick) + 3000)))" = 0 ]
  grep -q '"fix": the lease ends and is not renewed (--no-renew); stopping the command' "$T/a.err"
  hear_out
  [ "$(extended fix)" = 1 ] || fail "$(grep -i pexpire "$T/monitor")"
  # One whose lease is renewed sets it again and again: the count counts.
  ends 20s b "exit 0"
  hear_out
  [ "$(extended ren)" -ge 3 ]
}
# How often the lease of a lock was set.
extended() { grep -ciE "lua\] \"pexpire\" \"dlock:$1\" " "$T/monitor" || true; }

# bats test_tags=nightly
@test "--no-renew beside others: whatever they do, the lease is not made longer" {
  local left least=6000 key
  dlock_run a -s --no-renew --ttl 6s -k 500ms fix -- "$TICKER" "$TICKS"
  eventually 10s ticking
  key=$(r keys '{dlock:fix}:*:rwlock_timeout:1')
  until ended a; do
    run -0 "$DLOCK" run -s fix -- true # which it looks at
    left=$(r pttl "$key")
    [ "$left" -le "$least" ] || fail "a lease of $least ms became one of $left"
    [ "$left" -lt 0 ] || least=$left
  done
  [ "$least" -lt 2500 ] # it had the time
  ends 20s a "exit 124"
}

@test "--no-renew: a deaf command is dead before the lease is over" {
  local taken
  dlock_run a --no-renew --ttl 3s -k 500ms fix -- "$TICKER" "$TICKS" ignore 15 fork
  eventually 10s ticking
  taken=$(first_tick)
  ends 20s a "exit 124"
  ticker_gone
  [ "$(late_by $((taken + 3000)))" = 0 ]
  eventually 5s is_free fix
}

@test "--no-renew: a command that ends in time has its own code, and the lock is free at once" {
  dlock_run a --no-renew --ttl 30s fix -- sh -c 'exit 4'
  ends 20s a "exit 4"
  assert_free fix
  run ! grep -q dlock: "$T/a.err"
}

# --- --min-hold --------------------------------------------------------------------------------

@test "--min-hold: dlock is gone at once, and the lock stays for exactly so long" {
  local began first next
  began=$(boot_ms)
  "$DLOCK" run --min-hold 50s keep -- true
  [ $(($(boot_ms) - began)) -lt 40000 ]
  refused 75 'keep' -n keep
  run -0 "$DLOCK" inspect keep
  assert_output --regexp "kept by $(id -un)@$(hostname) pid [0-9]+ \(true\) for [0-9.]+m?s more \(--min-hold\)"
  run -0 "$DLOCK" list keep
  assert_output --partial kept
  "$DLOCK" inspect --json keep >"$T/json"
  [ "$(json '[h["kept"] for h in d["locks"][0]["holds"]]' <"$T/json")" = '[true]' ]
  "$DLOCK" force-release --yes keep
  first=$("$DLOCK" run --min-hold 4s keep -- sh -c 'echo "$DLOCK_TOKEN"')
  [ "$(lock_ttl keep)" -le 4000 ] # though the lease was for 30 s
  next=$("$DLOCK" run -w 30 keep -- sh -c 'echo "$DLOCK_TOKEN"')
  # Both are the server's µs.
  [ $((next - first)) -ge 4000000 ] || fail "entered after $(((next - first) / 1000)) ms"
  [ $((next - first)) -lt 9000000 ] || fail "entered after $(((next - first) / 1000)) ms"
  assert_no_keys
}

@test "--min-hold may be longer than the lease" {
  "$DLOCK" run --ttl 3s --min-hold 20s keep -- true
  [ "$(lock_ttl keep)" -gt 10000 ]
  refused 75 'keep' -n keep
  run -0 "$DLOCK" force-release --yes keep
}

@test "--min-hold: a run that lasted longer releases at once; a failed one is kept as well" {
  "$DLOCK" run --min-hold 200ms keep -- sleep 0.5
  assert_free keep
  run -3 "$DLOCK" run --min-hold 20s keep -- sh -c 'exit 3'
  refused 75 'keep' -n keep
  run -0 "$DLOCK" force-release --yes keep
}

@test "--min-hold: what never ran is not kept" {
  run -127 "$DLOCK" run --min-hold 20s keep -- no-such-command
  assert_free keep
}

# bats test_tags=nightly
@test "a stopped command's lock is kept to the end of --min-hold as well, and no longer" {
  dlock_run a --no-renew --ttl 4s -k 2s --min-hold 20s keep -- "$TICKER" "$TICKS"
  ends 10s a "exit 124"
  refused 75 'keep' -n keep
  "$DLOCK" force-release --yes keep
  dlock_run b --min-hold 500ms --max-hold 1s keep -- "$TICKER" "$TICKS"
  ends 10s b "exit 124"
  assert_free keep
}

@test "--min-hold may be as long as --max-hold: the lock of a command that ended is kept" {
  dlock_run a --min-hold 20s --max-hold 20s keep -- true
  ends 10s a "exit 0"
  refused 75 'keep' -n keep
}

@test "a kept lock cannot be joined or released; force-release frees it at once" {
  local began
  "$DLOCK" run --min-hold 60s keep -- sh -c 'echo "$DLOCK_HOLDS"' >"$T/holds"
  run -75 env DLOCK_HOLDS="$(cat "$T/holds")" "$DLOCK" run -n keep -- touch "$MARKER"
  key_exists keep
  come w -w 30 keep
  began=$(boot_ms)
  run -0 timeout 20 "$DLOCK" force-release --yes keep
  enters w
  [ $(($(boot_ms) - began)) -lt 10000 ]
  go w
  assert_not_started
  assert_no_keys
}

@test "--min-hold of a nested run keeps nothing" {
  run -0 "$DLOCK" run keep -- "$DLOCK" run --min-hold 60s keep -- true
  assert_free keep
}

@test "--min-hold of several names keeps all of them" {
  "$DLOCK" run --min-hold 20s --and b a -- true
  refused 75 '"a"' -n a
  refused 75 '"b"' -n b
  run -0 "$DLOCK" force-release --yes a
  run -0 "$DLOCK" force-release --yes b
  assert_no_keys
}

@test "--min-hold of one slot leaves the others" {
  "$DLOCK" run --slots 2 --min-hold 20s keep -- true
  run -0 "$DLOCK" run -n --slots 2 keep -- sh -c 'echo "$DLOCK_SLOT"'
  assert_output 1
  enter a --slots 2 keep
  refused 75 'keep' -n --slots 2 keep
  go a
  run -0 timeout 20 "$DLOCK" force-release --yes keep
}

@test "--min-hold of a reader keeps writers out, and lets readers in" {
  "$DLOCK" run -s --min-hold 20s keep -- true
  refused 75 'keep' -n -x keep
  run -0 "$DLOCK" run -n -s keep -- true
  refused 75 'keep' -n -x keep
  run -0 timeout 20 "$DLOCK" force-release --yes keep
  assert_no_keys
}

# bats test_tags=nightly
@test "--min-hold without a server" {
  in_a_directory
  local began
  began=$(boot_ms)
  "$DLOCK" run --min-hold 5s keep -- true
  run -75 "$DLOCK" run -n keep -- touch "$MARKER"
  run -0 timeout 30 "$DLOCK" run -w 20 keep -- true
  [ $(($(boot_ms) - began)) -ge 5000 ]
  assert_not_started
}

# --- hosts with wrong clocks -------------------------------------------------------------------

# host WHO AHEAD PERIOD FIRST TICKS MIN_HOLD: its wall clock is AHEAD s ahead of the true one, and a
# cron starts the job whenever that clock says that a tick is due. The job notes for which tick it runs.
host() {
  clock "$1" true
  [ "$2" = 0 ] || clock "$1" real "$2"
  with_clocks_of "$1" '' spawn "$1" python3 "$PROGRAMS/modes_cron.py" "$3" "$4" "$5" -- \
    "$DLOCK" run -n -E 0 --min-hold "$6" job -- sh -c 'echo "$CRON_TICK $0" >>"$1"' "$1" "$T/ran"
}

@test "three hosts whose clocks differ by 20 s and --min-hold 40s: the job runs once a tick" {
  needs_dynamic_dlock
  local period=12 keep=8 differ=4 ticks=1 first who
  [ -z "${MODES_FULL:-}" ] || { period=60 keep=40 differ=20 ticks=3; }
  : >"$T/ran"
  first=$((($(date +%s) + differ + 3) / period + 1))
  host fast "$differ" "$period" "$first" "$ticks" "${keep}s"
  host right $((differ / 2)) "$period" "$first" "$ticks" "${keep}s"
  host slow 0 "$period" "$first" "$ticks" "${keep}s"
  for who in fast right slow; do
    eventually $((period * (ticks + 2) + 20))s ended "$who"
    [ "$(cat "$T/$who.end")" = "exit 0" ] || fail "$who: $(cat "$T/$who.end" "$T/$who.err")"
    [ "$(grep -c '^started tick' "$T/$who.out")" = "$ticks" ] || fail "$who: $(cat "$T/$who.out")"
  done
  echo "# $ticks ticks, $((3 * ticks)) starts by clocks $differ s apart: $(wc -l <"$T/ran") runs" >&3
  [ "$(awk '{print $1}' "$T/ran" | sort -n | xargs)" = "$(seq "$first" $((first + ticks - 1)) | xargs)" ] ||
    fail "$(cat "$T/ran")"
  # All of them were started for each tick, and only the lock that is kept held them off.
  [ "$(cat "$T"/{fast,right,slow}.out | awk '{print $3}' | sort | uniq -c | awk '$1 != 3' | wc -l)" = 0 ]
}

# bats test_tags=nightly
@test "the same hosts without --min-hold run the job once each" {
  needs_dynamic_dlock
  local first=$((($(date +%s) + 4 + 3) / 8 + 1))
  : >"$T/ran"
  host fast 4 8 "$first" 1 0
  host slow 0 8 "$first" 1 0
  ends 40s fast "exit 0"
  ends 40s slow "exit 0"
  [ "$(wc -l <"$T/ran")" = 2 ]
}
