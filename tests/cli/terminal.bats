#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# On a terminal a command under dlock behaves as without it: it reads keys, Ctrl-C and Ctrl-Z mean
# what they mean, and the terminal comes back as it was. What a stopped dlock means for the lock is
# said, and kept.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells

load ../support/suite
suite server ticker supervise terminal

setup() {
  set_up
  export TERM=xterm HISTFILE=/dev/null
  echo "PS1='ready> '" >"$T/rc"
  # An interactive shell with job control, without the bells of a person's own.
  shell=(bash --noprofile --rcfile "$T/rc" --noediting -i)
  # Prints what it reads in raw mode until a q.
  cat >"$T/raw.py" <<'P'
import os, sys, termios, tty
fd = os.open("/dev/tty", os.O_RDWR) if "tty" in sys.argv else 0
before = termios.tcgetattr(fd)
tty.setraw(fd)
os.write(fd, b"raw-ready\r\n")
keys = b""
while not keys.endswith(b"q"):
    keys += os.read(fd, 1)
termios.tcsetattr(fd, termios.TCSADRAIN, before)
print("keys", keys.hex())
P
}

@test "a program that reads single keys gets them" {
  play expect:raw-ready 'send:ab\x1b[Aq' -- "$DLOCK" run raw -- python3 "$T/raw.py"
  played
  says 'keys 61621b5b4171'
  assert_free raw
}

@test "less and vi work" {
  command -v less >/dev/null && command -v vi >/dev/null || skip "needs less and vi"
  seq 200 >"$T/numbers"
  play expect:20 'send: ' expect:40 send:q -- "$DLOCK" run less -- less "$T/numbers"
  played
  play 'expect:numbers' 'send:ihello \x1b:wq\r' -- "$DLOCK" run vi -- vi "$T/numbers"
  played
  head -1 "$T/numbers" | grep -q hello
  assert_free vi
}

@test "an interactive shell under dlock has job control" {
  play 'expect:ready> ' 'send:sleep 50 &\r' 'expect:[1]' 'expect:ready> ' \
    'send:jobs; kill %1; echo mark=$((40+2))\r' expect:Running expect:mark=42 'expect:ready> ' \
    'send:exit 6\r' \
    -- "$DLOCK" run shell -- "${shell[@]}"
  played 6
  never_says 'no job control'
  assert_free shell
}

@test "J01: Ctrl-C: the command gets one INT, dlock dies by INT, and the script that called it stops" {
  printf '%s run ctrl-c -- %s %s catch 2 until %s\n' "$DLOCK" "$TICKER" "$TICKS" "$T/go" >"$T/counts"
  play "file:$TICKS=tick" 'send:\x03' "file:$TICKS=signal-2" pause:0.3 "run:touch $T/go" end -- bash "$T/counts"
  played
  [ "$(grep -c signal-2 "$TICKS")" = 1 ]
  printf '%s run ctrl-c -- %s %s\necho went-on\n' "$DLOCK" "$TICKER" "$T/ticks2" >"$T/script"
  play "file:$T/ticks2=tick" 'send:\x03' end -- bash "$T/script"
  played 130
  never_says went-on
  ticker_gone "$T/ticks2"
  assert_free ctrl-c
}

@test "Ctrl-\\: the command and dlock die by QUIT, without a core, and the script that called it stops" {
  cd "$T"
  ulimit -c unlimited || true
  printf '%s run quit -- sh -c "ulimit -c 0; exec %s %s"\necho went-on\n' "$DLOCK" "$TICKER" "$TICKS" >"$T/script"
  play "file:$TICKS=tick" 'send:\x1c' end -- sh -c "exec $(sed 1q "$T/script")"
  played 131
  ticker_gone
  assert_free quit
  run ! compgen -G "$T/core*"
  rm "$TICKS"
  play "file:$TICKS=tick" 'send:\x1c' end -- sh -c "ulimit -c 0; . $T/script" # bash would ignore QUIT
  played 131
  never_says went-on
}

@test "Ctrl-C while waiting: dlock dies by INT, the script that called it stops" {
  r hset dlock:ctrl-c-wait other:1 1
  printf '%s run ctrl-c-wait -- true\necho went-on\n' "$DLOCK" >"$T/script"
  play 'expect:waiting' 'send:\x03' end -- bash "$T/script"
  played 130
  never_says went-on
  [ "$(r hgetall dlock:ctrl-c-wait)" = $'other:1\n1' ]
}

@test "J02: Ctrl-Z and fg in time: the command goes on, and its code is passed on" {
  play 'expect:ready> ' "send:$DLOCK run --ttl 20s ctrl-z -- $TICKER $TICKS until $T/go code 9\r" \
    "file:$TICKS=tick" 'send:\x1a' expect:expires 'expect:Stopped' 'expect:ready> ' \
    "run:cp $TICKS $T/at-stop" pause:1 "run:cmp <(tail -1 $T/at-stop) <(tail -1 $TICKS)" \
    "run:touch $T/go" 'send:fg\r' "file:$TICKS=end" 'expect:ready> ' 'send:echo code=$?\r' expect:code=9 \
    'expect:ready> ' 'send:exit\r' \
    -- "${shell[@]}"
  played
  assert_free ctrl-z
}

@test "Ctrl-Z says when the lease expires" {
  play 'expect:ready> ' "send:$DLOCK run --ttl 20s ctrl-z-says -- $TICKER $TICKS\r" \
    "file:$TICKS=tick" \
    'send:\x1a' 'expect:; the lease of "ctrl-z-says" expires in' 'expect:ready> ' \
    'send:kill %1; fg\r' 'expect:ready> ' 'send:exit 0\r' -- "${shell[@]}"
  played
  ticker_gone
  assert_free ctrl-z-says
}

@test "J03: Ctrl-Z and fg after the lease: killed without one instruction more, 79" {
  play 'expect:ready> ' "send:$DLOCK run --ttl 3s too-late -- $TICKER $TICKS\r" "file:$TICKS=tick" \
    'send:\x1a' expect:Stopped 'expect:ready> ' "run:cp $TICKS $T/at-stop" pause:4 \
    'send:fg\r' 'expect:ready> ' 'send:echo code=$?\r' expect:code=79 'expect:ready> ' \
    'send:exit 0\r' -- "${shell[@]}"
  played
  cmp "$T/at-stop" "$TICKS"
  assert_free too-late
}

# The guard would see to it as well; here dlock is alone.
@test "J03: fg after the lease, with the guard gone: killed without one instruction more, 79" {
  local guard="pgrep -x lease-guard -P \$(ps -o ppid= -p \$(awk 'NR == 1 { print \$2 }' $TICKS))"
  play 'expect:ready> ' "send:$DLOCK run --ttl 5s slept -- $TICKER $TICKS\r" "file:$TICKS=tick" \
    'send:\x1a' expect:Stopped 'expect:ready> ' "run:kill -KILL \$($guard)" \
    "run:cp $TICKS $T/at-stop" pause:6 'send:fg\r' 'expect:ready> ' \
    'send:echo code=$?\r' expect:code=79 'expect:ready> ' 'send:exit 0\r' -- "${shell[@]}"
  played
  cmp "$T/at-stop" "$TICKS"
  assert_free slept
}

@test "Ctrl-Z, and another takes the lock when it has lapsed: it is not disturbed by fg" {
  play 'expect:ready> ' "send:$DLOCK run --ttl 3s taken -- $TICKER $TICKS\r" "file:$TICKS=tick" \
    'send:\x1a' expect:Stopped 'expect:ready> ' \
    "run:$DLOCK run -w 10s taken -- true && redis-cli -s $REDIS_SOCKET hset dlock:taken other:1 1" \
    'send:fg\r' 'expect:ready> ' 'send:echo code=$?\r' expect:code=79 'expect:ready> ' \
    'send:exit 0\r' -- "${shell[@]}"
  played
  [ "$(r hgetall dlock:taken)" = $'other:1\n1' ]
}

@test "Ctrl-Z while waiting stops dlock like any job, fg lets it wait on" {
  r hset dlock:stopped-wait other:1 1
  play 'expect:ready> ' "send:$DLOCK run stopped-wait -- echo got-it\r" expect:waiting \
    'send:\x1a' expect:Stopped 'expect:ready> ' \
    'send:fg\r' "run:redis-cli -s $REDIS_SOCKET del dlock:stopped-wait" 'expect:got-it' \
    'expect:ready> ' 'send:exit 0\r' -- "${shell[@]}"
  played
}

# fg only once the shell has said Stopped: in the moment between the command's stop and the shell's
# notice the shell itself, also without dlock, takes a job that it has just continued for stopped.
@test "a stop that is continued several times: terminal and command follow each time" {
  cat >"$T/lines.py" <<'P'
import sys
print("lines-ready", flush=True)
for line in sys.stdin:
    print("got", line.strip().upper(), flush=True)
    if line.strip() == "quit":
        sys.exit(3)
P
  play 'expect:ready> ' "send:$DLOCK run --ttl 20s again -- python3 $T/lines.py\r" \
    expect:lines-ready \
    'send:one\r' 'expect:got ONE' 'send:\x1a' 'expect:ready> ' 'send:fg\r' 'expect:lines.py' \
    'send:two\r' 'expect:got TWO' 'send:\x1a' 'expect:ready> ' 'send:bg\r' \
    'press:\r=Stopped' 'expect:ready> ' 'send:fg\r' 'expect:lines.py' \
    'send:quit\r' 'expect:got QUIT' 'expect:ready> ' 'send:echo code=$?\r' expect:code=3 \
    'expect:ready> ' 'send:exit 0\r' -- "${shell[@]}"
  played
  assert_free again
}

@test "J05: a job in the background that reads the terminal stops like any job, and reads after fg" {
  play 'expect:ready> ' "send:$DLOCK run --ttl 20s reads -- cat &\r" \
    'press:\r=Stopped' 'expect:ready> ' 'send:fg\r' 'expect:cat' \
    'send:hello\r' 'expect:hello' 'expect:hello' 'send:\x04' \
    'expect:ready> ' 'send:echo code=$?\r' expect:code=0 'expect:ready> ' 'send:exit 0\r' -- \
    "${shell[@]}"
  played
  assert_free reads
}

@test "a job in the background does not take the terminal from the shell" {
  play 'expect:ready> ' "send:$DLOCK run back -- $TICKER $TICKS for 1000 &\r" 'expect:ready> ' \
    "file:$TICKS=tick" \
    'send:echo typed=$((1+1))\r' expect:typed=2 "file:$TICKS=end" 'send:wait; echo code=$?\r' \
    expect:code=0 'expect:ready> ' 'send:exit 0\r' -- "${shell[@]}"
  played
}

@test "J06: the terminal is as before after the command was killed with changed modes" {
  play 'expect:ready> ' "send:stty -a >$T/before; echo mark=\$((1+1))\r" expect:mark=2 \
    'expect:ready> ' \
    "send:$DLOCK run modes -- sh -c 'stty raw -echo -isig; kill -9 \$\$'; stty -a >$T/after; echo mark=\$((2+2))\r" \
    expect:mark=4 'expect:ready> ' \
    'send:exit 0\r' -- "${shell[@]}"
  played
  diff "$T/before" "$T/after"
}

@test "J06: the terminal is as before after a lost lease and its KILL" {
  play 'expect:ready> ' "send:stty -a >$T/before; echo mark=\$((1+1))\r" expect:mark=2 \
    'expect:ready> ' \
    "send:$DLOCK run --ttl 3s modes-lost -- sh -c 'trap \"\" TERM; stty -echo -icanon; echo raw >$T/raw; $TICKER $TICKS ignore 15'; echo code=\$?; stty -a >$T/after; echo mark=\$((2+2))\r" \
    "file:$TICKS=tick" "run:redis-cli -s $REDIS_SOCKET del dlock:modes-lost" \
    expect:code=79 expect:mark=4 'expect:ready> ' 'send:exit 0\r' -- "${shell[@]}"
  played
  diff "$T/before" "$T/after"
}

@test "what a command leaves in the terminal's modes on purpose stays, as without dlock" {
  play "run:true" end -- bash -c \
    "stty -echo; $DLOCK run on-purpose -- stty echo; stty -a | grep -o -- '-\?echo ' | head -1"
  played
  never_says '-echo'
}

@test "in a pipeline the reader keeps the terminal" {
  play 'expect:ready> ' \
    "send:$DLOCK run left-of-pipe -- echo data | (cat; python3 $T/raw.py tty)\r" \
    expect:raw-ready 'send:xq' \
    'expect:keys 7871' 'expect:ready> ' 'send:exit 0\r' -- "${shell[@]}"
  played
  seq 300 >"$T/numbers"
  command -v less >/dev/null || return 0
  play 'expect:ready> ' "send:$DLOCK run left-of-less -- cat $T/numbers | less\r" expect:20 \
    'send: ' expect:40 send:q \
    'expect:ready> ' 'send:exit 0\r' -- "${shell[@]}"
  played
}

@test "Ctrl-C in a pipeline ends all of it" {
  play 'expect:ready> ' "send:$DLOCK run pipe-c -- $TICKER $TICKS | cat\r" "file:$TICKS=tick" \
    'send:\x03' 'expect:ready> ' \
    'send:exit 0\r' -- "${shell[@]}"
  played
  ticker_gone
  assert_free pipe-c
}

@test "a command that reads /dev/tty at the end of a pipeline gets its keys" {
  play 'expect:ready> ' \
    "send:echo data | $DLOCK run right-of-pipe -- sh -c 'cat; python3 $T/raw.py tty'\r" \
    expect:data expect:raw-ready 'send:yq' \
    'expect:keys 7971' 'expect:ready> ' 'send:echo code=$?\r' expect:code=0 'expect:ready> ' \
    'send:exit 0\r' -- "${shell[@]}"
  played
  assert_free right-of-pipe
}

@test "J07: closing the terminal: HUP to the command, and the lock is released" {
  play "file:$TICKS=tick" hangup -- "$DLOCK" run --ttl 60s hung-up -- "$TICKER" "$TICKS"
  [ "$status" = 129 ]
  ticker_gone
  assert_free hung-up
}

@test "a command that ignores HUP keeps its lock when the terminal is closed" {
  spawn a python3 -S "$PROGRAMS/pty_run.py" "file:$TICKS=tick" hangup -- \
    "$DLOCK" run --ttl 3s -k 200ms unhung -- "$TICKER" "$TICKS" ignore 1 for 6000 code 7
  eventually 8s ticking
  eventually 8s renewed_since "$(last_tick)"
  [ "$(hold_count unhung)" = 1 ]
  ends 10s a "exit 7"
  assert_free unhung
}
renewed_since() { [ "$(last_tick)" -gt $(($1 + 3200)) ]; }

@test "closing the terminal of a shell: nothing of a job under dlock is left" {
  play 'expect:ready> ' "send:$DLOCK run --ttl 60s hung-job -- $TICKER $TICKS\r" \
    "file:$TICKS=tick" hangup -- "${shell[@]}"
  eventually 8s ticker_gone
  eventually 5s is_free hung-job
}

@test "closing the terminal while waiting: dlock ends" {
  r hset dlock:hung-wait other:1 1
  play expect:waiting hangup -- "$DLOCK" run hung-wait -- true
  [ "$status" = 129 ]
}

# in_one_row COLUMNS OUTPUT: three waits and the grant were written one over the other, none of them longer
# than a row; then the command wrote.
in_one_row() {
  python3 -c 'import sys
before, *rows = sys.stdin.buffer.read().decode().split("\r\x1b[K")
assert before == "", before
*waits, last = rows
assert len(set(waits)) >= 3, waits
for wait in waits:
    assert wait.startswith("dlock: waiting ") and "\n" not in wait and len(wait) < int(sys.argv[1]), wait
assert last.startswith("dlock: acquired \"in-place\" after ") and last.rstrip().endswith("s\r\nstarted"), last' \
    "$1" <<<"$2" || { echo "in $1 columns:"; cat -v <<<"$2"; return 1; }
}
@test "the wait is one row of the terminal, however narrow that is, and the grant replaces it" {
  local columns
  export LC_ALL=C.UTF-8 NO_COLOR=1
  for columns in 80 40; do
    dlock_run h --reason "$(printf 'the nightly import %.0s' {1..9})" in-place -- \
      sh -c 'echo >"$0/in"; until [ -e "$0/go" ]; do sleep 0.02; done' "$T"
    eventually 8s file_has "$T/in"
    play --columns "$columns" 'expect:waiting ' 'expect:waiting ' 'expect:waiting ' "run:touch $T/go" \
      'expect:started' -- "$DLOCK" run in-place -- echo started
    played
    in_one_row "$columns" "$output"
    ends 5s h "exit 0"
    rm "$T/in" "$T/go"
  done
}

@test "./dev record: a screen of 80 columns shows the wait in one row, and does not scroll" {
  run -0 timeout 60 python3 -B "$PROJECT/packaging/record-wait.py" "$DLOCK" --svg "$T/wait.svg"
  [[ $output == *'one row, rewritten in place' ]]
  grep -q "waiting [0-9]*s" "$T/wait.svg"
}

@test "a terminal that knows no escape sequences gets lines, and no colour" {
  local term
  for term in dumb ''; do
    r hset dlock:dumb other:1 1
    TERM=$term play 'expect:waiting 1s' "run:redis-cli -s $REDIS_SOCKET del dlock:dumb" \
      'expect:started' -- "$DLOCK" run dumb -- echo started
    played
    never_says $'\e'
    [[ $output == 'dlock: waiting 1s for "dumb", '*'held by other:1 (not dlock), without expiry'$'\r\n'* ]]
    [[ $output == *'dlock: acquired "dumb" after '*$'s\r\nstarted'* ]]
  done
}

@test "without a terminal a wait is reported at doubling intervals" {
  r hset dlock:doubling other:1 1
  dlock_run a doubling -- true
  eventually 14s grep -qE 'waiting ([789]|1[0-2])s' "$T/a.err"
  kill -TERM "$a_pid"
  ends 5s a "signal 15"
  [ "$(grep -c waiting "$T/a.err")" -ge 3 ]
  [ "$(grep -c waiting "$T/a.err")" -le 4 ]
  run ! grep -q $'\r' "$T/a.err"
  [ "$(grep -vc '^dlock: ' "$T/a.err")" = 0 ]
}

@test "a success without waiting prints nothing on a terminal either" {
  play -- "$DLOCK" run silent -- true
  played
  [ -z "$output" ]
}

@test "J08: no terminal at all, no stdin: works and prints nothing" {
  SPAWN_OPTIONS="--setsid --no-stdin" dlock_run a no-tty -- sh -c 'exit 4'
  ends 8s a "exit 4"
  [ ! -s "$T/a.out" ]
  [ ! -s "$T/a.err" ]
}

@test "a nested dlock stops and goes on with its ancestor" {
  play 'expect:ready> ' \
    "send:$DLOCK run --ttl 20s nested -- $DLOCK run nested -- $TICKER $TICKS until $T/go code 9\r" \
    "file:$TICKS=tick" \
    'send:\x1a' expect:Stopped 'expect:ready> ' "run:cp $TICKS $T/at-stop" pause:0.5 \
    "run:cmp <(tail -1 $T/at-stop) <(tail -1 $TICKS)" \
    "run:touch $T/go" 'send:fg\r' "file:$TICKS=end" 'expect:ready> ' 'send:echo code=$?\r' expect:code=9 \
    'expect:ready> ' 'send:exit 0\r' -- "${shell[@]}"
  played
  assert_free nested
}

@test "Ctrl-C under a nested dlock: both die by INT, nothing is left" {
  play 'expect:ready> ' "send:$DLOCK run nested-c -- $DLOCK run nested-c -- $TICKER $TICKS\r" \
    "file:$TICKS=tick" \
    'send:\x03' 'expect:ready> ' 'send:echo code=$?\r' expect:code=130 'expect:ready> ' \
    'send:exit 0\r' -- "${shell[@]}"
  played
  ticker_gone
  assert_free nested-c
}

@test "a command that is stopped on the terminal by TTOU or TTIN through a group of its own can be continued" {
  play 'expect:ready> ' \
    "send:$DLOCK run tostop -- sh -c 'stty tostop; echo mark=\$((5+5))'; stty -tostop; echo code=\$?\r" \
    expect:mark=10 expect:code=0 'expect:ready> ' \
    'send:exit 0\r' -- "${shell[@]}"
  played
}

@test "a question of the command is answered by the terminal although stdout is a file" {
  play 'expect:ready> ' \
    "send:$DLOCK run asks -- sh -c 'read x; echo got-\$x' >$T/answer; echo code=\$?\r" pause:0.5 \
    'send:yes\r' expect:code=0 'expect:ready> ' \
    'send:exit 0\r' -- "${shell[@]}"
  played
  [ "$(cat "$T/answer")" = got-yes ]
}
