#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the command of --notify is told of each event once, and changes nothing: not the signals to
# the command under the lock, not the release, not the exit status.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server empty cli supervise

setup() {
  set_up
  new_files
  export T
}
teardown() {
  end_started
  clean_up
}

# Writes the line that it gets, its variables and their end to the folder $T.
NOTE='cat >$T/line; env >$T/env; echo "$DLOCK_EVENT ${DLOCK_OUTCOME:--} $DLOCK_NAME" >>$T/told'
told() { cat "$T/told" 2>/dev/null || true; }

# each_event: brings each default event about, and says what the command was told.
each_event() {
  export DLOCK_NOTIFY=$NOTE
  DLOCK_NOTIFY='' hold a
  run -75 "$DLOCK" run -n a -- true
  let_go
  run -0 "$DLOCK" run --once-per 1h a -- true
  run -0 "$DLOCK" run --once-per 1h a -- true
  run -124 "$DLOCK" run --max-hold 100ms a -- sleep 60
  run -127 "$DLOCK" run a -- /nowhere/at-all
  dlock_run lost --ttl 3s b -- sleep 60
  eventually 10s "$DLOCK" inspect -q b
  run -0 "$DLOCK" force-release --now --yes b
  ends 20s lost "exit 79"
  run -69 "$DLOCK" run --url redis://127.0.0.1:1 --connect-timeout 50ms a -- true
  diff "$T/told" - <<'END'
busy busy a
done done a
time_up - a
failed failed a
lost - b
unavailable failed a
END
}

@test "each event is told of: Redis" { each_event; }

@test "each event is told of: SQLite" {
  export DLOCK_URL=sqlite://$T/dlock.db
  each_event
}

@test "standard input has the very line of the JSON log" {
  run -0 --separate-stderr "$DLOCK" run -v --log-format json --notify "$NOTE" --notify-on granted a -- true
  [ "$(json 'd["event"]' <"$T/line")" = granted ]
  grep -Fxq "$(cat "$T/line")" <<<"$stderr"
  hold a
  run -75 --separate-stderr "$DLOCK" run --log-format json -n --notify "$NOTE" a -- true
  grep -Fxq "$(cat "$T/line")" <<<"$stderr"
  [ "$(json 'd["holder"]["pid"]' <"$T/line")" = "$HOLDER" ]
  # As text, and even with -q, it is JSON all the same.
  run -75 --separate-stderr "$DLOCK" run -q -n --notify "$NOTE" a -- true
  assert_no_stderr
  [ "$(json 'd["event"] + d["lock"] + str(d["holder"]["pid"])' <"$T/line")" = "busya$HOLDER" ]
  let_go
}

@test "only the events of the list are told of, and a wrong one is refused" {
  run -127 "$DLOCK" run --notify "$NOTE" --notify-on busy,lost a -- /nowhere/at-all
  [ -z "$(told)" ]
  run -64 --separate-stderr "$DLOCK" run --notify "$NOTE" --notify-on busy,lots a -- touch "$T/ran"
  assert_stderr_has 'there is no event "lots"; did you mean lost?'
  [ ! -e "$T/ran" ]
  run ! "$DLOCK" run --url "$DLOCK_URL?notify=touch%20$T/ran" a -- /nowhere/at-all
  [ ! -e "$T/ran" ]
}

@test "its output goes to stderr, and its exit status is of no account" {
  hold a
  run -75 --separate-stderr "$DLOCK" run -n --notify 'echo heard; exit 3' a -- true
  [ -z "$output" ]
  assert_stderr_has heard
  [ "${#stderr_lines[@]}" = 2 ] || fail "$stderr"
  SHELL=/nowhere/shell run -75 --separate-stderr "$DLOCK" run -n --notify true a -- true
  assert_stderr_has "the command of --notify cannot be started: no such file or directory"
  let_go
}

@test "it has a group of its own, the caller's signals, and no descriptor but the standard ones" {
  hook='sleep 2; ls /proc/self/fd /proc/$PPID/fd >$T/fds; grep Sig /proc/self/status >$T/signals; touch $T/survived'
  run -143 "$DLOCK" run --notify "$hook" --notify-on granted a -- \
    sh -c 'grep Sig /proc/self/status >$T/expected; sleep 0.5; kill 0; sleep 60' 9>"$T/nine"
  [ -e "$T/survived" ]
  # 3: in ls its folder, in the watcher its report
  [ "$(grep -o '^[0-9]*$' "$T/fds" | tr '\n' ' ')" = "0 1 2 3 0 1 2 3 " ] || fail "$(cat "$T/fds")"
  diff <(grep -E 'Blk|Ign' "$T/signals") <(grep -E 'Blk|Ign' "$T/expected")
}

@test "TERM goes to the command before the command of --notify is started" {
  strace -o "$T/calls" -e trace=kill,clone,clone3,fork,vfork -e signal=none \
    "$DLOCK" run --ttl 3s --notify 'touch $T/started' a -- sleep 60 3>&- &
  eventually 10s "$DLOCK" inspect -q a
  run -0 "$DLOCK" force-release --now --yes a
  wait $! && false
  [ -e "$T/started" ]
  # The guard, the command and the watcher are forked; the TERM is before the last of these.
  grep -E 'CLONE_CHILD.*SIGCHLD|^v?fork|kill\(-[0-9]+, SIGTERM' "$T/calls" |
    sed -E 's/.*SIGTERM.*/TERM/; s/^(clone|fork|vfork).*/fork/' >"$T/order"
  [ "$(tr '\n' ' ' <"$T/order")" = "fork fork TERM fork " ] || fail "$(cat "$T/calls")"
}

# lasts OPTION…: the lock is free, and taken by another run, while the command of --notify still runs.
# That ignores all signals and has left a daemon.
lasts() {
  local hook='trap "" TERM INT HUP; (setsid sleep 6 &); touch $T/begun; sleep 5; touch $T/over'
  dlock_run a "$@" --notify "$hook" --notify-on granted,time_up a -- sh -c 'until [ -e $T/begun ]; do sleep 0.02; done'
  eventually 10s test -e "$T/begun"
  run -0 "$DLOCK" run -w 4s a -- sh -c '[ -e $T/begun ] && [ ! -e $T/over ]'
  run ! ended a
  ends 20s a "exit 0"
  [ -e "$T/over" ]
  refute_stray a
}
refute_stray() { run ! grep -q "left its process group\|descendants" "$T/$1.err"; }

@test "the release does not wait for it" { lasts; }
@test "the release does not wait for it: --contain" { lasts --contain; }

@test "a signal ends the command, the next one the wait for the command of --notify" {
  dlock_run a --notify 'touch $T/begun; sleep 8' --notify-on granted a -- sleep 60
  eventually 10s test -e "$T/begun"
  kill -TERM "$a_pid"
  eventually 5s is_free a
  sleep 0.3
  run ! ended a
  kill -TERM "$a_pid"
  ends 3s a "signal 15"
}

@test "a signal that ends the wait for the lock ends dlock at once" {
  hold b
  dlock_run a --notify 'touch $T/begun; sleep 8' --notify-on granted,busy b -- true
  sleep 0.5
  kill -TERM "$a_pid"
  ends 3s a "signal 15"
  [ ! -e "$T/begun" ]
  let_go
}

@test "after ten seconds its group is stopped, and what ignores TERM is killed" {
  hook='trap "" TERM; while :; do sleep 0.1; date +%s%N >$T/alive; done & wait'
  before=$(date +%s)
  run -127 --separate-stderr "$DLOCK" run --notify "$hook" a -- /nowhere/at-all
  took=$(($(date +%s) - before))
  [ "$took" -ge 10 ] && [ "$took" -le 15 ] || fail "$took s"
  assert_stderr_has "the command of --notify had not ended after 10s and was stopped"
  last=$(cat "$T/alive")
  sleep 2
  [ "$(cat "$T/alive")" = "$last" ]
}

@test "the limit holds also if dlock has been killed" {
  dlock_run a --notify 'echo $$ >$T/hook.tmp; mv $T/hook.tmp $T/hook; exec sleep 60' --notify-on granted a -- sleep 60
  eventually 10s test -e "$T/hook"
  kill -KILL "$a_pid"
  eventually 15s all_gone "$T/hook"
}

@test "a dlock in it is below no lock, and tells of nothing" {
  export HOOK='env >$T/env; "$DLOCK" run -n a -- true 2>$T/inner; echo $? >$T/status; echo told >>$T/told'
  run -0 "$DLOCK" run a -- \
    sh -c 'DLOCK_NOTIFY=$HOOK DLOCK_NOTIFY_ON=granted,busy exec "$DLOCK" run b -- sleep 2'
  [ "$(cat "$T/status")" = 75 ] || fail "$(cat "$T/inner")"
  run ! grep 'is no variable of dlock' "$T/inner"
  [ "$(told)" = told ]
  [ "$(grep -E '^DLOCK_(HELD|OWNER|TOKEN|TTL_MS|MODE|HOLDS|NOTIFY|NAME|EVENT)=' "$T/env" | sort | tr '\n' ' ')" = \
    "DLOCK_EVENT=granted DLOCK_NAME=b DLOCK_NOTIFY= " ] || fail "$(cat "$T/env")"
}

@test "the example of the guide sends what happened" {
  example=$(sed -n "/chat.example/{s/\\\\(aq/'/g; s/\\\\//g; p}" "$PROJECT/man/dlock-guide.7")
  printf '#!/bin/sh\ncat >$T/line; echo "$*" >$T/words\n' >"$T/curl"
  chmod +x "$T/curl"
  hold nightly
  PATH=$T:$PATH run -0 sh -c "\"\$DLOCK\" ${example#dlock }"
  let_go
  [ "$(json 'd["event"]' <"$T/line")" = busy ]
  [ "$(cat "$T/words")" = "-fsS -m 10 --data-binary @- https://chat.example/hook" ]
}
