#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --result-file tells the one who comes after a run how it ended, whatever the end was; the file is
# there whole or not at all, and nothing else is ever touched for it.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells

load ../support/suite
suite server ticker cli supervise

setup() {
  set_up
  mkdir "$T/results"
  RESULT=$T/results/result.json
}

# noted NAME ARG…: `dlock run --result-file $RESULT` in the background.
noted() {
  local name=$1
  shift
  dlock_run "$name" --result-file "$RESULT" "$@"
}
# has FIELD VALUE …: fields of the result; `-` for one that must not be there.
has() {
  [ "$(ls -A "$T/results")" = "${RESULT##*/}" ] || { ls -lA "$T/results"; return 1; }
  python3 "$PROGRAMS/schema.py" result "$RESULT" || return 1
  while [ $# -gt 0 ]; do
    local value
    value=$(json "d.get('$1', '-')" <"$RESULT")
    [ "$value" = "$2" ] || { echo "$1 is '$value', not '$2'"; cat "$RESULT"; return 1; }
    shift 2
  done
}
none() { [ "$(find "$T/results" -mindepth 1)" = "" ] || { ls -lA "$T/results"; return 1; }; }

until_go='echo $$ >"$0/child"; until [ -e "$0/go" ]; do sleep 0.02; done; exit 7'
let_go() { touch "$T/go"; }

@test "the command's code, with lock, hold, token and times" {
  noted a plain -- sh -c "echo \$DLOCK_TOKEN >$T/token; $until_go" "$T"
  eventually 5s file_has "$T/child"
  local id
  id=$(r hkeys 'dlock:holds:{dlock:plain}')
  sleep 0.3
  let_go
  ends 5s a "exit 7"
  has version 1 outcome child lock plain exit_code 7 signal - error - lost false released yes
  has hold "$id" token "$(cat "$T/token")"
  [ "$(json 'd["held_ms"]' <"$RESULT")" -ge 300 ]
  [ "$(json 'd["waited_ms"]' <"$RESULT")" -ge 0 ]
  [ "$(wc -l <"$RESULT")" = 1 ]
}

@test "the file is there when dlock ends by its command's signal" {
  noted a signal -- sh -c 'kill -USR1 $$'
  ends 5s a "signal 10"
  has outcome child signal 10 exit_code - lost false released yes exit_status 138
}

@test "busy, by -n and after a wait, whatever the exit status for it is" {
  r hset dlock:busy other:1 1
  noted a -n -E 0 busy -- true
  ends 5s a "exit 0"
  has exit_status 0 holders "[]" code -
  has outcome busy lock busy hold null token null held_ms 0 lost false released null exit_code -
  has holder "held by other:1 (not dlock), without expiry"
  noted b -w 300ms busy -- true
  ends 5s b "exit 75"
  has outcome busy exit_status 75
  [ "$(json 'd["waited_ms"]' <"$RESULT")" -ge 300 ]
}

@test "failed: no store, and a command that cannot be executed" {
  DLOCK_URL=redis://127.0.0.1:1 noted a --connect-timeout 100ms down -- true
  ends 10s a "exit 69"
  has outcome failed token null lost false exit_code - exit_status 69 code 69
  [[ $(json 'd["error"]' <"$RESULT") == *"connection refused"* ]]
  noted b missing -- no-such-command-here
  ends 5s b "exit 127"
  has outcome failed lost false released yes exit_code - exit_status 127 code 127
  has error 'cannot execute "no-such-command-here": command not found'
}

@test "lost: the command was stopped, there was nothing to release" {
  noted a --ttl 3s lost -- "$TICKER" "$TICKS"
  eventually 5s ticking
  r del dlock:lost
  ends 10s a "exit 79"
  has outcome lost signal 15 lost true released no exit_status 79
}

@test "revoked: lost, but released" {
  noted a --ttl 3s revoked -- "$TICKER" "$TICKS"
  eventually 5s ticking
  "$DLOCK" force-release --yes revoked 2>"$T/by" 3>&-
  ends 10s a "exit 79"
  has outcome lost lost true released yes
}

@test "lost with --on-lost warn: the command's code, and the loss" {
  noted a --ttl 3s --on-lost warn warned -- sh -c "$until_go" "$T"
  eventually 5s file_has "$T/child"
  r del dlock:warned
  eventually 10s file_has "$T/a.err" "lost"
  let_go
  ends 5s a "exit 7"
  has outcome child exit_code 7 lost true released no
}

@test "a loss that only the release finds out: the command's code, and the loss" {
  noted a surprise -- sh -c "$until_go" "$T"
  eventually 5s file_has "$T/child"
  r del dlock:surprise 'dlock:holds:{dlock:surprise}'
  let_go
  ends 5s a "exit 7"
  has outcome child exit_code 7 lost true released no
}

@test "a release without an answer is unknown" {
  start_proxy
  DLOCK_URL=$PROXY_URL noted a --connect-timeout 1s unknown -- sh -c "$until_go" "$T"
  eventually 5s file_has "$T/child"
  proxy blackhole
  let_go
  ends 15s a "exit 7"
  has outcome child exit_code 7 lost false released unknown
}

@test "an answer that was only heard the second time is a release" {
  start_proxy
  DLOCK_URL=$PROXY_URL noted a twice -- sh -c "$until_go" "$T"
  eventually 5s file_has "$T/child"
  proxy drop 1 EVAL close
  let_go
  ends 15s a "exit 7"
  grep -qFx -- '-- dropped' "$PROXY_LOG"
  has outcome child lost false released yes
}

@test "a signal while waiting" {
  r hset dlock:waiting other:1 1
  noted a waiting -- true
  eventually 10s file_has "$T/a.err" "waiting"
  kill -TERM "$a_pid"
  ends 5s a "signal 15"
  has outcome signalled signal 15 token null lost false exit_code - exit_status 143
}

@test "a signal while the command runs is the command's end" {
  noted a asked -- "$TICKER" "$TICKS"
  eventually 5s ticking
  kill -TERM "$a_pid"
  ends 5s a "signal 15"
  has outcome child signal 15 lost false released yes
}

@test "the file is written after the release, and is new each time" {
  echo old >"$RESULT"
  noted a after -- sh -c "[ ! -e $RESULT ] && $until_go" "$T"
  eventually 5s file_has "$T/child"
  none
  let_go
  ends 5s a "exit 7"
  has exit_code 7
  assert_free after
}

@test "the umask decides which users may read the file" {
  noted a open -- true
  ends 5s a "exit 0"
  [ "$(stat -c %a "$RESULT")" = 644 ]
  (umask 077 && "$DLOCK" run --result-file "$RESULT" closed -- true)
  [ "$(stat -c %a "$RESULT")" = 600 ]
}

@test "a name without a folder is one in the folder dlock was started in" {
  (cd "$T/results" && "$DLOCK" run --result-file result.json here -- sh -c 'cd / && exit 0')
  has outcome child
}

# refused PATH: nothing is run, 78, one line.
refused() {
  make_marker
  run --separate-stderr -78 "$DLOCK" run --result-file "$1" "$(fresh)" -- touch "$MARKER"
  assert_not_started
  assert_one_line
  assert_stderr_has "cannot write the result file $1: "
}

@test "where no result can be written nothing is run: 78" {
  mkdir "$T/folder"
  ln -s "$T/results/elsewhere" "$T/link"
  mkfifo "$T/fifo"
  refused "$T/no-such-folder/x"
  refused "$T/folder"
  refused "$T/folder/"
  refused "$T/link"
  refused "$T/fifo"
  refused /dev/null
  refused /proc/result
  [ -c /dev/null ]
  [ -L "$T/link" ]
  [ -p "$T/fifo" ]
  none
}

@test "a folder that may not be written to: 78, nothing is run" {
  mkdir -m 555 "$T/closed"
  local as=()
  # Root may write everywhere, but for what is taken from it here.
  [ "$(id -u)" != 0 ] || as=(setpriv --bounding-set -dac_override --inh-caps -dac_override)
  run --separate-stderr -78 "${as[@]}" "$DLOCK" run --result-file "$T/closed/x" closed -- true
  assert_stderr_has "permission denied"
}

@test "a link that is put there during the run is replaced, not followed" {
  echo precious >"$T/target"
  noted a link -- sh -c "$until_go" "$T"
  eventually 5s file_has "$T/child"
  ln -s "$T/target" "$RESULT"
  let_go
  ends 5s a "exit 7"
  [ ! -L "$RESULT" ]
  has outcome child
  [ "$(cat "$T/target")" = precious ]
}

@test "a folder that is put there during the run: a warning, the command's code, no litter" {
  noted a folder -- sh -c "$until_go" "$T"
  eventually 5s file_has "$T/child"
  mkdir "$RESULT"
  let_go
  ends 5s a "exit 7"
  grep -q '^dlock: cannot write the result file .*: is a directory$' "$T/a.err"
  rmdir "$RESULT"
  none
}

@test "no room for the file: a warning, the command's code, no litter" {
  needs_no_sanitizer "writes files of its own, and dies of this limit"
  # A limit on the size of files stands for a full disk; the pipe is for a stderr that is no file.
  run -7 bash -c 'ulimit -f 0; "$0" run --result-file "$1" full -- sh -c "exit 7" 2>&1 | cat
    exit "${PIPESTATUS[0]}"' "$DLOCK" "$RESULT"
  [[ $output == "dlock: cannot write the result file $RESULT: file too large" ]]
  none
}

@test "words that make no sense leave what is there alone" {
  echo old >"$RESULT"
  run ! "$DLOCK" run --result-file "$RESULT" --ttl 1ms usage -- true
  run ! "$DLOCK" run --result-file "$RESULT" usage
  run ! "$DLOCK" --url nonsense:// run --result-file "$RESULT" usage -- true
  [ "$(cat "$RESULT")" = old ]
}

@test "--result-file is an option of run only, may be set in the environment, and needs a name" {
  run -64 "$DLOCK" inspect --result-file "$RESULT" x
  run -64 "$DLOCK" run --result-file "" "$(fresh)" -- true
  DLOCK_RESULT_FILE=$RESULT "$DLOCK" inspect x
  none
  DLOCK_RESULT_FILE=$RESULT "$DLOCK" run env -- true
  has outcome child
}
