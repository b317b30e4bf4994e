#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: acquire leaves a lock taken, for steps that no one command can be wrapped around, and
# tells all that renew and release need; nothing is left held that nobody was told of; and whoever
# comes late touches nothing that is another's by then.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC1003,SC1091,SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server empty line modes steps

# --- acquire -----------------------------------------------------------------------------------

@test "acquire prints the lock for a shell, and keeps it" {
  local now left
  "$DLOCK" acquire --ttl 20s --reason why "$(fresh)" >"$T/told"
  run -0 cut -d= -f1 "$T/told"
  assert_output "$(printf 'export DLOCK_%s\n' NAME OWNER TOKEN TTL_MS MODE EXPIRES HOLDS)"
  . "$T/told"
  assert_equal "$DLOCK_NAME $DLOCK_MODE $DLOCK_TTL_MS" "$(fresh) plain 20000"
  assert_equal "$DLOCK_OWNER" "$(owner_of "$(fresh)")"
  assert_equal "$DLOCK_TOKEN" "$(r get "redisson_lock_token:{dlock:$(fresh)}")"
  left=$(lock_ttl "$(fresh)")
  now=$(date +%s)
  [ "$DLOCK_EXPIRES" -le $((now + 20)) ] && [ "$DLOCK_EXPIRES" -gt "$now" ]
  # As long as dlock says, it is.
  [ $((DLOCK_EXPIRES - now)) -le $((left / 1000 + 1)) ]
  run -0 "$DLOCK" inspect --json "$(fresh)"
  run -0 json '[d["locks"][0]["holds"][0][k] for k in ("pid", "command", "reason")]' <<<"$output"
  assert_output "[$BASHPID, \"acquire\", \"why\"]"
  run -0 "$DLOCK" release "$(fresh)"
  assert_no_keys
}

@test "what acquire prints is what it says, whatever the name, in dash and in bash" {
  local name shell
  for shell in dash bash; do
    for name in 'a b' ' a' "it's" '"' '$HOME' '$(touch "$MARKER")' '`touch "$MARKER"`' '\' '~' '~root' \
      'a;touch x' '*' '!!' '#a' $'tab\there' 'größe' '%20' '-n' "'" "''" $'\e[31m' '&' '|' '(' '<x' '{a,b}' '='; do
      run -0 "$shell" -c 'told=$("$DLOCK" acquire -- "$1") && eval "$told" || exit
        [ "$DLOCK_NAME" = "$1" ] || { echo "got $DLOCK_NAME"; exit 1; }
        "$DLOCK" release -- "$1"' "$shell" "$name"
      assert_output ""
    done
    run -0 "$shell" -c 'eval "$("$DLOCK" acquire "a b" "50%" "c")"; echo "$DLOCK_NAME"
      "$DLOCK" release "a b" "50%" "c"' "$shell"
    assert_output 'a%20b 50%25 c'
  done
  assert_not_started
  assert_no_keys
}

@test "acquire --json has the documented members" {
  "$DLOCK" acquire --json --slots 3 --ttl 20s "$(fresh)" b >"$T/json"
  run -0 python3 - "$T/json" "$(fresh)" "$(owner_of "$(fresh)")" <<'END'
import json, sys, time
text = open(sys.argv[1]).read()
assert text.count("\n") == 1
d = json.loads(text)
assert list(d) == ["version", "locks", "ttl_ms", "expires", "holds"] and d["version"] == 1, d
first, second = d["locks"]
assert list(first) == ["name", "owner", "hold", "token", "mode", "slot"], first
assert first["name"] == sys.argv[2] and second["name"] == "b"
assert first["owner"] == second["owner"] == sys.argv[3]
assert first["hold"].startswith(first["owner"] + "#") and first["token"] > 0
assert first["mode"] == "slots" and first["slot"] == 0
assert d["ttl_ms"] == 20000 and 0 < d["expires"] - time.time() < 20.5
assert len(d["holds"].split(" ")) == 2
END
  DLOCK_HOLDS=$(json 'd["holds"]' <"$T/json") run -0 "$DLOCK" release "$(fresh)" b
  assert_no_keys
}

@test "a run of the name passes through, all other claims are refused" {
  "$DLOCK" acquire "$(fresh)" >"$T/told" && . "$T/told"
  run -0 timeout 20 "$DLOCK" run "$(fresh)" -- sh -c 'echo "$DLOCK_OWNER ${DLOCK_EXPIRES-none}"; r=$("$DLOCK" inspect --json "$DLOCK_NAME"); echo "$r"' "$(fresh)"
  assert_line --index 0 "$DLOCK_OWNER none"
  assert_output --partial '"count": "2"'
  [ "$(hold_count "$(fresh)")" = 1 ]
  run -75 env -u DLOCK_HOLDS "$DLOCK" run -n "$(fresh)" -- touch "$MARKER"
  run -75 --separate-stderr env -u DLOCK_HOLDS "$DLOCK" acquire -n "$(fresh)"
  assert_output ""
  assert_one_line
  assert_stderr_has "pid $BASHPID"
  run -9 env -u DLOCK_HOLDS "$DLOCK" acquire -w 100ms -E 9 "$(fresh)"
  assert_not_started
  "$DLOCK" release "$(fresh)"
  assert_no_keys
}

@test "acquire in a run of the name joins it, and releases only its own hold" {
  run -0 "$DLOCK" run "$(fresh)" -- bash -c 'run=$DLOCK_OWNER; eval "$("$DLOCK" acquire "$1")"
    [ "$DLOCK_OWNER" = "$run" ] && redis-cli -s "$REDIS_SOCKET" hvals "dlock:$1"
    "$DLOCK" release "$1" && redis-cli -s "$REDIS_SOCKET" hvals "dlock:$1"' - "$(fresh)"
  assert_output $'2\n1'
  assert_no_keys
}

@test "an acquire in a run of the name outlives the run, though no process shows its hold" {
  # The shell that called it is gone at once, and what it told is in nobody's environment.
  "$DLOCK" run "$(fresh)" -- bash -c 'held=$("$DLOCK" acquire --ttl 1h "$1" || exit) && echo "$held"' - "$(fresh)" >"$T/told"
  . "$T/told"
  run -75 env -u DLOCK_HOLDS "$DLOCK" run -n "$(fresh)" -- true
  run -0 "$DLOCK" renew "$(fresh)"
  run -0 "$DLOCK" release "$(fresh)"
  assert_no_keys
}

@test "the list of holds does not grow in a script that acquires and releases all day" {
  local i
  for i in 1 2 3; do
    take a
    take "$(fresh)"
    assert_equal "$(wc -w <<<"$DLOCK_HOLDS")" 2
    "$DLOCK" release "$(fresh)" a
  done
  take --slots 2 "$(fresh)"
  assert_equal "${DLOCK_SLOT-none}" 0
  take -s a
  assert_equal "${DLOCK_SLOT-none} $DLOCK_MODE" "none shared"
  "$DLOCK" release a "$(fresh)"
  assert_no_keys
}

@test "of several shared or slot holders each releases its own hold" {
  local first second
  for mode in -s --slots=3; do
    first=$("$DLOCK" acquire "$mode" "$(fresh)")
    second=$("$DLOCK" acquire "$mode" "$(fresh)")
    run -75 env -u DLOCK_HOLDS "$DLOCK" run -n "$(fresh)" -- touch "$MARKER"
    (eval "$first" && "$DLOCK" release "$(fresh)")
    (eval "$first" && run -75 "$DLOCK" release "$(fresh)")
    run -75 env -u DLOCK_HOLDS "$DLOCK" run -n "$(fresh)" -- touch "$MARKER"
    (eval "$second" && "$DLOCK" renew "$(fresh)" && "$DLOCK" release "$(fresh)")
    assert_no_keys
  done
  assert_not_started
}

@test "a lock whose acquire cannot print is released: 125" {
  run -125 --separate-stderr bash -c '"$DLOCK" acquire "$1" >/dev/full' - "$(fresh)"
  assert_one_line
  assert_stderr_has 'cannot write'
  assert_no_keys
  run -125 bash -c '"$DLOCK" acquire "$1" >&-' - "$(fresh)"
  assert_no_keys
  exec 5> >(exec true)
  eventually 5s gone $!
  run -125 bash -c '"$DLOCK" acquire "$1" >&5' - "$(fresh)"
  assert_no_keys
}

# acquire_into_full_pipe [SECONDS]: nobody reads; a TERM comes after so many seconds.
acquire_into_full_pipe() {
  python3 - "$DLOCK" "$(fresh)" "$@" <<'END'
import os, signal, subprocess, sys, time
read, write = os.pipe()
os.set_blocking(write, False)
try:
    while True:
        os.write(write, b"x" * 4096)
except BlockingIOError:
    os.set_blocking(write, True)
acquire = subprocess.Popen([sys.argv[1], "acquire", "--ttl", "6s", sys.argv[2]], stdout=write)
if len(sys.argv) > 3:
    time.sleep(float(sys.argv[3]))
    acquire.send_signal(signal.SIGTERM)
print(acquire.wait())
END
}
@test "acquire with a blocked stdout releases the lock in time, and a signal does not have to wait" {
  run -0 --separate-stderr acquire_into_full_pipe
  assert_output 125
  assert_stderr_has 'standard output is blocked'
  assert_no_keys
  run -0 --separate-stderr acquire_into_full_pipe 0.7
  [ "$output" = 125 ] || [ "$output" = -15 ]
  assert_no_keys
}

@test "acquire that is interrupted while it waits leaves the line and takes nothing" {
  local signal
  hold "$(fresh)"
  for signal in TERM INT HUP; do
    rm -f "$T/a.pid"
    spawn a "$DLOCK" acquire "$(fresh)"
    eventually 10s stands "$(fresh)" 1
    kill "-$signal" "$a_pid"
    ends 5s a "signal $(kill -l "$signal")"
    stands "$(fresh)" 0
    [ ! -s "$T/a.out" ]
  done
  let_go
  assert_no_keys
}

# Whatever comes first: it was told and is held, or it was not told and is not held.
@test "acquire that is interrupted as the lock becomes free prints the lock, or does not hold it" {
  local i
  for ((i = 0; i < 12; i++)); do
    rm -f "$T/a.pid"
    hold "$(fresh)"
    spawn a "$DLOCK" acquire "$(fresh)"
    eventually 10s stands "$(fresh)" 1
    touch "$T/go"
    sleep "0.00$((i % 10))"
    kill -TERM "$a_pid" 2>/dev/null || true
    wait "$HOLDER"
    eventually 10s ended a
    if [ -s "$T/a.out" ]; then
      (. "$T/a.out" && "$DLOCK" release "$(fresh)")
    fi
    assert_no_keys
  done
}

@test "a grant that came too late for its lease is released: 69, and nothing is printed" {
  start_proxy
  proxy delay 900
  run -69 --separate-stderr "$DLOCK" --url "$PROXY_URL" acquire --ttl 2s --connect-timeout 8s "$(fresh)"
  assert_output ""
  assert_stderr_has 'too slow'
  proxy pass
  eventually 5s is_free "$(fresh)"
}

@test "a lock whose acquire was forgotten expires" {
  take --ttl 2s "$(fresh)"
  run -0 timeout 20 env -u DLOCK_HOLDS "$DLOCK" run "$(fresh)" -- true
  run -1 "$DLOCK" release "$(fresh)"
}

# --- the steps of a job that is killed -----------------------------------------------------------

# A CI job in three steps. Only the first two are reached.
# shellcheck disable=SC2016
job='told=$("$DLOCK" acquire --ttl 5s "$1") || exit
  eval "$told"; echo "$told" >"$0/told"
  read -r renewed _ </proc/uptime
  "$DLOCK" renew "$1" || exit
  echo "$renewed" >"$0/renewed.new"; mv "$0/renewed.new" "$0/renewed"
  while :; do sleep 0.1; done
  "$DLOCK" release "$1"'

@test "a job that is killed between its steps: the next enters at expiry, and the late release touches nothing" {
  local state renewed entered
  spawn job bash -c "$job" "$T" "$(fresh)"
  eventually 10s file_has "$T/renewed"
  run -75 "$DLOCK" run -n "$(fresh)" -- touch "$MARKER"
  kill -KILL "$job_pid"

  dlock_run next "$(fresh)" -- sh -c 'read -r t _ </proc/uptime; echo "$t" >"$0/in.new"; mv "$0/in.new" "$0/in"
    until [ -e "$0/go" ]; do sleep 0.02; done' "$T"
  eventually 20s file_has "$T/in"
  renewed=$(cat "$T/renewed") entered=$(cat "$T/in")
  awk -v a="$renewed" -v b="$entered" 'BEGIN { exit !(b - a >= 4.99) }' ||
    fail "renewed at $renewed, the next one entered at $entered"

  state=$(state_of "$(fresh)")
  run -75 --separate-stderr bash -c '. "$0/told"; "$DLOCK" release "$1"' "$T" "$(fresh)"
  assert_one_line
  assert_stderr_has "not released: \"$(fresh)\" is held by $(id -un)@$(hostname) pid $next_pid"
  run -79 bash -c '. "$0/told"; "$DLOCK" renew "$1"' "$T" "$(fresh)"
  assert_equal "$(state_of "$(fresh)")" "$state"
  touch "$T/go"
  ends 5s next "exit 0"
  assert_no_keys
}

# lost_here: a run in this shell is not begun, with one line and 79.
lost_here() {
  run -79 --separate-stderr timeout 20 "$DLOCK" run "$@" "$(fresh)" -- touch "$MARKER"
  assert_one_line
  assert_stderr_has "the hold of \"$(fresh)\" that dlock acquire took is gone and was not released"
  assert_not_started
}

below_a_lost_hold() {
  take --ttl 1s "$(fresh)"
  run -0 timeout 20 env -u DLOCK_HOLDS "$DLOCK" run "$(fresh)" -- true # waits for the end of the lease
  lost_here
  lost_here -n
  run -1 "$DLOCK" release "$(fresh)"
  lost_here
  # Somebody else has it now: no reason to wait for that.
  env -u DLOCK_HOLDS "$DLOCK" run "$(fresh)" -- sh -c 'touch "$0/in"; until [ -e "$0/go" ]; do sleep 0.02; done' "$T" 3>&- &
  STARTED+=("$!")
  eventually 10s test -e "$T/in"
  lost_here
  touch "$T/go"
  wait "$!"
  take "$(fresh)" # begins anew
  run -0 "$DLOCK" run "$(fresh)" -- true
  run -0 timeout 20 env -u DLOCK_HOLDS "$DLOCK" force-release --now --yes "$(fresh)"
  lost_here
}
@test "a run below an acquire whose hold has expired or was taken away is not begun: 79" {
  below_a_lost_hold
}
@test "a run below an acquire whose hold has expired or was taken away is not begun: 79, in a directory" {
  in_a_directory
  below_a_lost_hold
}

after_a_release() {
  take "$(fresh)"
  run -0 "$DLOCK" release "$(fresh)"
  run -0 --separate-stderr timeout 20 "$DLOCK" run "$(fresh)" -- sh -c 'echo "$DLOCK_OWNER"'
  assert_no_stderr
  refute_output "$DLOCK_OWNER"
  take "$(fresh)"
  run -0 "$DLOCK" release "$(fresh)"
}
@test "after its release a run in the same shell takes the lock anew" { after_a_release; }
@test "after its release a run in the same shell takes the lock anew, in a directory" {
  in_a_directory
  after_a_release
}

@test "a hold of another store does not concern a run" {
  take "$(fresh)"
  run -0 "$DLOCK" --url "local://$T" run "$(fresh)" -- true
  run -0 "$DLOCK" release "$(fresh)"
}
