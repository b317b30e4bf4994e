#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# With --log-format json every line is an event that a program can read: what happened, when, to
# which lock and hold, and until when the lease is good. LOG EVENTS in dlock-json(7) is the schema.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells

load ../support/suite
suite server ticker supervise

# told NAME ARG…: `dlock run` that tells everything as events; they go to $T/NAME.err.
told() {
  local name=$1
  shift
  dlock_run "$name" -v --log-format json "$@"
}
names() { python3 -S "$PROGRAMS/events.py" "$T/$1.err" names; }
get() { python3 -S "$PROGRAMS/events.py" "$T/$1.err" get "$2" "$3"; }

# says NAME EVENT…: exactly these, in this order, behind the message that names the store, and
# without the renewals and outages between them.
says() {
  local name=$1 seen
  shift
  seen=" $(names "$name") "
  seen=${seen/# message / }
  while [[ $seen =~ \ (renewed|unknown)\  ]]; do seen=${seen/ ${BASH_REMATCH[1]} / }; done
  [ "$seen" = " $* " ] || { echo "seen:$seen"; echo "not: $*"; cat "$T/$name.err"; return 1; }
}
said() { names "$1" | grep -qw -- "$2"; }
is() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }

# A command that goes on until the test lets it: `let_go`.
until_go='echo $$ >"$0/child"; until [ -e "$0/go" ]; do sleep 0.02; done; exit 7'
let_go() { touch "$T/go"; }

@test "a run from grant to release: each with its time, lock, hold, token and lease" {
  local before after safe id
  before=$(boot_ms)
  told a whole -- sh -c "$until_go" "$T"
  eventually 5s file_has "$T/child"
  after=$(boot_ms)
  id=$(r hkeys 'dlock:holds:{dlock:whole}')
  is "$(r hget 'dlock:holds:{dlock:whole}' "$id" | grep -o "\"token\":$(get a granted token)[,}]" | wc -l)" 1
  let_go
  ends 5s a "exit 7"
  says a granted started reaped released
  for event in granted started reaped released; do
    is "$(get a "$event" lock)" whole
    is "$(get a "$event" hold)" "$id"
    is "$(get a "$event" token)" "$(r get 'redisson_lock_token:{dlock:whole}')"
    is "$(get a "$event" level)" info
  done
  # ttl - D of the default lease is 29.69 s, from some time between start and grant.
  safe=$(($(get a granted safe_until_ns) / 1000000))
  [ "$safe" -ge $((before + 29690)) ]
  [ "$safe" -le $((after + 29690)) ]
  [ "$(get a granted boot_ns)" -ge "${before}000000" ]
  [ "$(get a granted waited_ms)" -le $((after - before)) ]
  is "$(get a started child_pid)" "$(cat "$T/child")"
  is "$(get a reaped code)" 7
}

@test "renewals move the end of the lease" {
  told a --ttl 3s again -- sh -c "$until_go" "$T"
  eventually 10s said a renewed
  let_go
  ends 5s a "exit 7"
  [ "$(get a renewed safe_until_ns)" -gt "$(get a granted safe_until_ns)" ]
  is "$(get a released safe_until_ns)" "$(get a renewed@last safe_until_ns)"
}

@test "without -v an undisturbed run writes nothing, and a text line stays a text line" {
  dlock_run a --log-format json silent -- true
  ends 5s a "exit 0"
  is "$(cat "$T/a.err")" ""
  dlock_run b -v text -- sh -c 'kill -TERM $$'
  ends 5s b "signal 15"
  is "$(grep -c . "$T/b.err")" 3
  grep -q '^dlock: the locks are in .* (DLOCK_URL)$' "$T/b.err"
  grep -q '^dlock: acquired "text" after .*, token [0-9]*$' "$T/b.err"
  grep -q '^dlock: released "text"$' "$T/b.err"
}

@test "each line says when, on which host, by which dlock, and of which store" {
  local before after
  before=$(date -u +%FT%T.%3NZ)
  told a where -- sh -c 'echo "$PPID"'
  ends 5s a "exit 0"
  after=$(date -u +%FT%T.%3NZ)
  says a granted started reaped released
  for event in granted started reaped released; do
    [[ $(get a "$event" time) =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$ ]]
    [[ ! $(get a "$event" time) < $before && ! $(get a "$event" time) > $after ]]
    is "$(get a "$event" host)" "$(hostname)"
    is "$(get a "$event" pid)" "$(cat "$T/a.out")"
    is "$(get a "$event" store)" "redis+unix://$REDIS_SOCKET?db=0"
  done
}

@test "text with -v says which signals the command gets, and why it is killed" {
  dlock_run a -v text-signals -- "$TICKER" "$TICKS" catch 10 ignore 15
  eventually 5s ticking
  kill -USR1 "$a_pid"
  eventually 5s grep -q 'sending SIGUSR1 to the command' "$T/a.err"
  kill -TERM "$a_pid"
  eventually 5s grep -q 'sending SIGTERM to the command' "$T/a.err"
  kill -TERM "$a_pid"
  ends 5s a "signal 9"
  grep -qx 'dlock: "text-signals": second signal: killing the command now' "$T/a.err"
}

@test "--quiet still says that a command was stopped, and why" {
  dlock_run a -q --ttl 6s -k 200ms --max-hold 500ms quiet -- "$TICKER" "$TICKS" ignore 15
  ends 10s a "exit 124"
  is "$(cat "$T/a.err")" 'dlock: "quiet": --max-hold 500ms has passed; stopping the command
dlock: "quiet": the command did not end in time; killing it'
  dlock_run b -q quiet -- sh -c 'sleep 30 & exit 3'
  ends 10s b "exit 3"
  is "$(cat "$T/b.err")" \
    'dlock: "quiet": the command left processes behind; stopping them before the lock is released'
}

@test "a wait is reported, and that it was in vain" {
  r hset dlock:wait other:1 1
  told a wait -- true
  eventually 10s said a waiting
  kill -TERM "$a_pid"
  ends 5s a "signal 15"
  is "$(get a waiting level)" warn
  is "$(get a waiting holder)" '{"owner": "other:1", "lease_left": "never"}'
  [ "$(get a waiting waited_ms)" -ge 1000 ]
  told b -n wait -- true
  ends 10s b "exit 75"
  says b busy
  [[ $(get b busy text) == '"wait" is busy: held by other:1 (not dlock), without expiry' ]]
}

@test "a server without hand-off messages: polling is reported" {
  start_other polled --appendonly no --rename-command SUBSCRIBE ""
  o hset dlock:polled other:1 1
  DLOCK_URL=$OTHER_URL told a polled -- true
  eventually 10s said a polling
  kill -TERM "$a_pid"
  ends 5s a "signal 15"
}

@test "a command that cannot be executed: started, reaped with the error, released" {
  told a missing -- no-such-command-here
  ends 5s a "exit 127"
  says a granted started reaped released message
  is "$(get a reaped errno)" 2
}

@test "the store falls silent: unknown, lapsing, term, kill, reaped, all before the lease ends" {
  start_other frozen --appendonly no
  DLOCK_URL=$OTHER_URL told a --ttl 6s frozen -- "$TICKER" "$TICKS" ignore 15
  eventually 5s ticking
  kill -STOP "$OTHER_PID"
  ends 20s a "exit 79"
  said a unknown
  says a granted started lapsing term kill reaped
  is "$(get a lapsing level)" error
  is "$(get a term signal)" 15
  is "$(get a kill signal)" 9
  is "$(get a reaped signal)" 9
  is "$(get a kill safe_until_ns)" "$(get a lapsing safe_until_ns)"
  # TERM comes as long before the end of the lease as promised, not at some other time.
  [ "$(get a term boot_ns)" -ge $(($(get a lapsing safe_until_ns) - 100000000 - 2000000000)) ]
}

@test "the key is deleted: lost, term, kill, reaped, and nothing to release" {
  told a --ttl 3s deleted -- "$TICKER" "$TICKS" ignore 15
  eventually 5s ticking
  r del dlock:deleted
  ends 10s a "exit 79"
  says a granted started lost term kill reaped
  is "$(get a lost level)" error
  [ "$(get a lost safe_until_ns)" -ge "$(get a granted safe_until_ns)" ]
}

@test "with --on-lost warn the loss is reported, and no signal is sent" {
  told a --ttl 3s --on-lost warn warned -- sh -c "$until_go" "$T"
  eventually 5s file_has "$T/child"
  r del dlock:warned
  eventually 5s said a lost
  let_go
  ends 5s a "exit 7"
  says a granted started lost reaped
}

@test "force-release: revoked, term, reaped, released" {
  told a --ttl 3s revoked -- "$TICKER" "$TICKS"
  eventually 5s ticking
  "$DLOCK" force-release --yes revoked 2>"$T/by" 3>&-
  ends 5s a "exit 79"
  says a granted started revoked term reaped released
  is "$(get a reaped signal)" 15
}

@test "processes left behind: reaped, leftovers, term, kill, released" {
  told a left -- sh -c 'trap "" TERM; sleep 30 & exit 3'
  ends 10s a "exit 3"
  says a granted started reaped leftovers term kill released
  is "$(get a reaped code)" 3
}

@test "signals to dlock: passed on, a stop, and the second one that kills" {
  told a signals -- "$TICKER" "$TICKS" catch 10 ignore 15
  eventually 5s ticking
  kill -USR1 "$a_pid"
  eventually 5s said a signal
  kill -TERM "$a_pid"
  eventually 5s said a term
  kill -TERM "$a_pid"
  ends 5s a "signal 9"
  says a granted started signal term kill reaped released
  is "$(get a signal signal)" 10
  is "$(get a signal level)" info
  is "$(get a term level)" warn
}

@test "no answer to the release: release_unknown, with the time that the lease has left" {
  start_proxy
  DLOCK_URL=$PROXY_URL told a --ttl 30s --connect-timeout 1s never -- sh -c "$until_go" "$T"
  eventually 5s file_has "$T/child"
  proxy blackhole
  let_go
  ends 15s a "exit 7"
  says a granted started reaped release_unknown
  [ "$(get a release_unknown left_ns)" -gt 0 ]
  [ "$(get a release_unknown left_ns)" -lt 30000000000 ]
}

@test "gone when it was to be released: lost_at_release" {
  told a surprise -- sh -c "$until_go" "$T"
  eventually 5s file_has "$T/child"
  r del dlock:surprise 'dlock:holds:{dlock:surprise}'
  let_go
  ends 5s a "exit 7"
  says a granted started reaped lost_at_release
  is "$(get a lost_at_release level)" error
}

@test "Ctrl-Z: stopped, with the end of the lease" {
  echo "PS1='ready> '" >"$T/rc"
  TERM=xterm HISTFILE=/dev/null run timeout 60 python3 -S "$PROGRAMS/pty_run.py" 'expect:ready> ' \
    "send:$DLOCK -v --log-format json run --ttl 60s z -- $TICKER $TICKS code 9 2>$T/a.err\r" \
    "file:$TICKS=tick" 'send:\x1a' 'expect:Stopped' 'expect:ready> ' \
    'send:kill %1; fg\r' 'expect:ready> ' 'send:exit 0\r' \
    -- bash --noprofile --rcfile "$T/rc" --noediting -i 3>&-
  is "$status" 0
  says a granted started stopped term reaped released
  is "$(get a stopped safe_until_ns)" "$(get a granted safe_until_ns)"
}

@test "the events of a nested run have its own hold under the owner above" {
  # Each to a file of its own: two processes may write in another order than they took the time.
  told a nested -- sh -c '"$DLOCK" -v --log-format json run nested -- true 2>"$0/inner.err"' "$T"
  ends 5s a "exit 0"
  says a granted started reaped released
  says inner granted started reaped released
  [ "$(get a granted boot_ns)" -lt "$(get inner granted boot_ns)" ]
  [ "$(get inner released boot_ns)" -lt "$(get a reaped boot_ns)" ]
  [ "$(get a granted hold)" != "$(get inner granted hold)" ]
  is "$(get a granted hold | cut -d '#' -f 1)" "$(get inner granted hold | cut -d '#' -f 1)"
}

@test "dropped lines are counted in the next event that fits" {
  cat >"$T/full.py" <<'P'
import json, os, subprocess, sys
out, into = os.pipe()
os.set_blocking(into, False)
filler = 0
try:
    while True:
        filler += os.write(into, b"x" * 4096)
except BlockingIOError:
    os.set_blocking(into, True)
run = subprocess.Popen([sys.argv[1], "-v", "--log-format", "json", "run", "full", "--",
                        "sh", "-c", "echo started; read go; exit 4"],
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=into)
os.close(into)
assert run.stdout.readline() == b"started\n"
while filler:
    filler -= len(os.read(out, min(filler, 65536)))
run.stdin.write(b"go\n")
run.stdin.close()
with os.fdopen(out, "rb") as rest:
    events = [json.loads(line) for line in rest]
assert run.wait() == 4
print("dropped before it:", events[0]["dropped"] > 0, "then:", "dropped" in events[-1])
print("of all:", events[0]["dropped"] + len(events))
P
  run -0 timeout 60 python3 "$T/full.py" "$DLOCK" 3>&-
  # granted is among the dropped; whether started is depends on who was faster.
  is "${lines[0]}" "dropped before it: True then: False"
  is "${lines[1]}" "of all: 5"
}

@test "the longest and strangest name leaves every line an object" {
  local name
  name=$(python3 -c 'print("\x01" * 512)')
  told a "$name" -- sh -c 'exit 3'
  ends 5s a "exit 3"
  says a granted started reaped released
  is "$(get a granted lock)" "$name"
  name=$'\xff\xfe"\\'
  told b "$name" -- sh -c 'exit 3'
  ends 5s b "exit 3"
  says b granted started reaped released
}

# Whatever was told, each line is as the schema says.
teardown() {
  local file files=() ok=yes
  for file in "$T"/*.err; do
    [ "$(head -c 1 "$file")" != "{" ] || files+=("$file")
  done
  [ ${#files[@]} = 0 ] || python3 "$PROGRAMS/schema.py" log "${files[@]}" >/dev/null || ok=""
  clean_up
  [ -n "$ok" ]
}
