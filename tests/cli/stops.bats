#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a stop signal (TSTP, TTIN, TTOU) for dlock stops dlock and its command, and no process beside them.
# shellcheck disable=SC2154  # *_pid are set by spawn
load ../support/suite
suite server ticker supervise

# A lock of another program.
foreign_hold() { r hset "dlock:$1" foreign:1 1 >/dev/null && r pexpire "dlock:$1" "${2:-60000}" >/dev/null; }

# stop_alone [SIGNAL [WHOM]]: a script that sends TSTP to the dlock whose pid is in $T/dlock, waits until
# that stands still, and the command, whose pid is in $T/command if it runs already, and lets both go on.
stop_alone() {
  mkfifo "$T/go"
  cat >"$T/stop-alone" <<E
stopped() { sed 's/.*) //' "/proc/\$1/stat" | grep -q '^T'; }
within_20s() { for _ in \$(seq 1000); do ! "\$@" || return 0; sleep 0.02; done; exit 1; }
within_20s test -s "$T/dlock"
kill -${1:-TSTP} "\$(cat "$T/${2:-dlock}")"
for pid in \$(cat "$T/dlock" "$T/command" 2>/dev/null); do within_20s stopped "\$pid"; done
touch "$T/stood"
kill -CONT "\$(cat "$T/dlock")"
[ ! -e "$T/command" ] || echo >"$T/go"
E
}
# Words of a command that says who it is, and ends with 9 when it was stopped and continued. Meanwhile
# it starts nothing: a shell whose child stops between vfork(2) and exec cannot stop itself.
# shellcheck disable=SC2016  # for the shell there
until_go=(sh -c 'echo $$ >"$T/command"; echo $PPID >"$T/pid"; mv "$T/pid" "$T/dlock"
  read -r _ <"$T/go"; exit 9')

@test "a TSTP for dlock stops dlock and its command, not the script that runs beside it" {
  stop_alone
  export T
  # shellcheck disable=SC2016  # for that script
  spawn a sh -c '"$DLOCK" run alone -- "$@" & sh "$T/stop-alone"; wait $!' sh "${until_go[@]}"
  ends 20s a "exit 9"
  grep -q 'the lease of "alone" expires' "$T/a.err"
}

@test "a TSTP for a dlock that waits stops it, not the script that runs beside it" {
  stop_alone
  export T
  foreign_hold alone-waits
  # shellcheck disable=SC2016
  spawn a sh -c '"$DLOCK" run alone-waits -- sh -c "exit 8" & echo $! >"$T/dlock"
    until grep -qs "waiting" "$T/a.err"; do sleep 0.02; done
    sh "$T/stop-alone"; wait $!' sh
  eventually 20s test -e "$T/stood"
  r del dlock:alone-waits
  r publish 'redisson_lock__channel:{dlock:alone-waits}' 0
  ends 20s a "exit 8"
}

@test "a TSTP for a dlock whose command has the terminal stops those two, not the script around them" {
  stop_alone
  export T
  # The interactive shell gives that script a process group which can be stopped (setpgid(2)).
  # shellcheck disable=SC2016
  run -9 timeout 60 python3 -S "$PROGRAMS/pty_run.py" -- bash --norc -ic 'sh -c "$0" sh "$@"; exit $?' \
    'sh "$T/stop-alone" & "$DLOCK" run with-terminal -- "$@"' "${until_go[@]}" 3>&-
  [[ $output == *'the lease of "with-terminal" expires'* ]]
}

# stops_without_terminal SIGNAL [WHOM]: in a session that has no terminal, by a shell with job control.
stops_without_terminal() {
  stop_alone "$@"
  export T
  # shellcheck disable=SC2016
  spawn a setsid -w bash -c 'set -m; sh -c "$0" sh "$@"; exit $?' \
    '"$DLOCK" run alone -- "$@" & sh "$T/stop-alone"; wait $!' "${until_go[@]}"
  ends 20s a "exit 9"
  grep -q 'the lease of "alone" expires' "$T/a.err"
}

@test "a TTIN for dlock without a terminal stops dlock and its command, not the script beside it" {
  stops_without_terminal TTIN
}

@test "a TTOU for dlock without a terminal stops dlock and its command, not the script beside it" {
  stops_without_terminal TTOU
}

@test "a TTIN for a command without a terminal stops it and dlock, not the script beside them" {
  stops_without_terminal TTIN command
}
