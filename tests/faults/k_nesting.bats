#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Below a holder the same name passes, for as long as that hold lives and for nobody else.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells

load ../support/suite
suite server ticker faults

@test "K02: a nested run has its holder's token; two holds, then one, then none" {
  dlock_run a nest -- sh -c "echo \$DLOCK_TOKEN >$T/outer
    '$DLOCK' run -n nest -- sh -c 'echo \$DLOCK_TOKEN >$T/inner; $(until_there "$T/go1")'
    touch $T/back; $(until_there "$T/go2")"
  eventually 10s file_has "$T/inner"
  cmp "$T/outer" "$T/inner"
  [ "$(r hlen dlock:nest) $(hold_count nest) $(hold_records nest)" = "1 2 2" ]
  touch "$T/go1"
  eventually 10s test -e "$T/back"
  [ "$(r hlen dlock:nest) $(hold_count nest) $(hold_records nest)" = "1 1 1" ]
  touch "$T/go2"
  ends 10s a "exit 0"
  [ ! -s "$T/a.err" ]
  assert_free nest
}

@test "K03: a nested dlock that is killed does not disturb the outer one, whose release frees all" {
  dlock_run a --ttl 4s -k 200ms inner-killed -- sh -c "'$DLOCK' run --ttl 3s inner-killed -- sh -c '
      echo \$PPID >$T/inner; exec $TICKER $TICKS'
    $(until_there "$T/go"); exit 4"
  eventually 10s ticking
  kill -KILL "$(cat "$T/inner")"
  eventually 10s ticker_gone
  # It does not disturb the outer one, which renews the lock as before.
  sleep 4.5
  alive "$a_pid"
  key_exists inner-killed
  touch "$T/go"
  ends 10s a "exit 4"
  assert_free inner-killed
}

@test "a nested run whose command is deaf has ended, and released, before the run above it sends KILL" {
  dlock_run a --ttl 9s above -- sh -c "trap : TERM; '$DLOCK' run --ttl 9s below -- $TICKER $TICKS ignore 15
    echo \$? >$T/nested; '$DLOCK' inspect -q below; echo \$? >>$T/nested; exit 3"
  eventually 10s ticking
  kill -TERM "$a_pid"
  ends 20s a "exit 3"
  [ "$(cat "$T/nested")" = $'137\n1' ]
  ticker_gone
}

@test "K04: two nested runs below one holder are in at the same time" {
  # Each ends only when it has seen the other.
  run -0 timeout 20 "$DLOCK" run siblings -- sh -c "
    one='touch $T/one; $(until_there "$T/two")'; two='touch $T/two; $(until_there "$T/one")'
    '$DLOCK' run siblings -- sh -c \"\$one\" & first=\$!
    '$DLOCK' run siblings -- sh -c \"\$two\" || exit 1; wait \$first"
  [ "$output" = "" ]
  assert_free siblings
}

# A holder `a` of NAME that wrote what it passes on to $T/env, and ends when there is $T/go.
living_holder() {
  dlock_run a "$@" -- sh -c "env | grep ^DLOCK_ | grep -v ^DLOCK_URL= >$T/env.new
    mv $T/env.new $T/env; $(until_there "$T/go")"
  eventually 10s file_has "$T/env"
}
# with_env FILE COMMAND…: with the DLOCK_… of that file.
with_env() {
  local -a given
  mapfile -t given <"$1"
  shift
  env "${given[@]}" "$@"
}

@test "K05: what a holder passed on is worth nothing once it has released" {
  living_holder --ttl 20s stale
  touch "$T/go"
  ends 10s a "exit 0"
  mv "$T/env" "$T/stale"
  rm "$T/go"
  living_holder --ttl 20s stale
  run -75 with_env "$T/stale" "$DLOCK" run -n stale -- touch "$T/in"
  [ ! -e "$T/in" ]
  [ "$(hold_count stale)" = 1 ]
  touch "$T/go"
  ends 10s a "exit 0"
  # Free: it gets in by itself, and releases its own.
  run -0 with_env "$T/stale" "$DLOCK" run -n stale -- sh -c 'echo $DLOCK_OWNER'
  [ "$output" != "$(sed -n 's/^DLOCK_OWNER=//p' "$T/stale")" ]
  assert_free stale
}

@test "K05: another owner, serial, name or prefix than the living holder's admits no claim" {
  living_holder --ttl 20s forged
  local change
  for change in 's/[0-9a-f]$/x/' 's/\(DLOCK_HOLDS=.*\)forged/\1other/' 's/:[0-9]\+|/:1|/' \
    's/|.*|/|/' 's/=.*/=/'; do
    sed "$change" "$T/env" >"$T/changed"
    run ! cmp -s "$T/env" "$T/changed"
    run -75 with_env "$T/changed" "$DLOCK" run -n forged -- touch "$T/in"
  done
  # The holder's own words, but said under another prefix.
  r hset other:forged foreign:1 1
  run -75 with_env "$T/env" "$DLOCK" --prefix other: run -n forged -- touch "$T/in"
  [ ! -e "$T/in" ]
  [ "$(hold_count forged)" = 1 ]
  touch "$T/go"
  ends 10s a "exit 0"
  assert_free forged
}

@test "K05: all that a living holder passed on is its hold: inside with it, not with others" {
  living_holder --ttl 20s copied
  with_env "$T/env" "$DLOCK" run -n copied -- \
    sh -c "echo \$DLOCK_TOKEN >$T/in; $(until_there "$T/go-copy")" 3>&- &
  STARTED+=($!)
  eventually 10s file_has "$T/in"
  [ "$(cat "$T/in")" = "$(sed -n 's/^DLOCK_TOKEN=//p' "$T/env")" ]
  touch "$T/go"
  ends 10s a "exit 0"
  # Its holder is gone: it keeps everybody else out until it ends.
  run -75 "$DLOCK" run -n copied -- true
  run -75 with_env "$T/env" "$DLOCK" run -n copied -- true
  touch "$T/go-copy"
  wait "${STARTED[-1]}"
  assert_free copied
}

@test "K06 P21: a daemon that nests after its ancestor has released is a stranger" {
  dlock_run a daemon -- sh -c "setsid sh -c 'echo \$\$ >$T/daemon.pid; $(until_there "$T/go")
      \"$DLOCK\" run -n daemon -- touch $T/in 2>$T/daemon.err; echo \$? >$T/code' >/dev/null 2>&1 &
    $(until_there "$T/daemon.pid"); exit 3"
  ends 10s a "exit 3"
  alive "$(cat "$T/daemon.pid")"
  assert_free daemon
  r hset dlock:daemon foreign:1 1
  touch "$T/go"
  eventually 10s file_has "$T/code"
  [ "$(cat "$T/code")" = 75 ]
  [ ! -e "$T/in" ]
  [ "$(r hgetall dlock:daemon)" = $'foreign:1\n1' ]
}

# The least remaining lease of NAME, looked at every 20 ms for MS.
least_ttl() {
  local end least=999999 ttl
  end=$(($(boot_ms) + $2))
  while [ "$(boot_ms)" -lt "$end" ]; do
    ttl=$(lock_ttl "$1")
    [ "$ttl" -ge "$least" ] || least=$ttl
  done
  echo "$least"
}

@test "K17: a short lease inside a long one does not shorten it" {
  dlock_run a --ttl 20s short-inside -- \
    "$DLOCK" run --ttl 4s -k 200ms short-inside -- "$TICKER" "$TICKS"
  eventually 10s ticking
  [ "$(least_ttl short-inside 4500)" -gt 5000 ]
  kill -TERM "$a_pid"
  ends 10s a "signal 15"
}

@test "K17: a long lease inside a short one is not shortened by the outer one's renewals" {
  dlock_run a --ttl 4s -k 200ms long-inside -- \
    "$DLOCK" run --ttl 20s long-inside -- "$TICKER" "$TICKS"
  eventually 10s ticking
  [ "$(least_ttl long-inside 4500)" -gt 5000 ]
  kill -TERM "$a_pid"
  ends 10s a "signal 15"
  assert_free long-inside
}
