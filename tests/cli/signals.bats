#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Whatever signal comes and whenever: no process of the command is left, no lock is left, and the
# one who called dlock is told the truth about how it ended.
# shellcheck disable=SC2154  # *_pid are set by spawn

load ../support/suite
suite server ticker supervise

signal_number() { kill -l "$1"; }

# Somebody else's lock.
foreign_hold() { r hset "dlock:$1" foreign:1 1 >/dev/null && r pexpire "dlock:$1" "${2:-60000}" >/dev/null; }
heard() { [ "$(r pubsub numsub "redisson_lock__channel:{dlock:$1}" | tail -1)" = "${2:-1}" ]; }

takes_signals() { find "/proc/$1/fd" -lname '*signalfd*' | grep -q .; }

@test "a signal while the server does not answer: dlock dies by it, nothing is started" {
  local s
  for s in TERM INT HUP QUIT USR1; do
    kill -STOP "$REDIS_PID"
    dlock_run "$s" --ttl 1s "connecting-$s" -- touch "$T/started-$s"
    eventually 10s takes_signals "$(cat "$T/$s.pid")"
    kill -"$s" "$(cat "$T/$s.pid")"
    ends 5s "$s" "signal $(signal_number "$s")"
    kill -CONT "$REDIS_PID"
    [ ! -e "$T/started-$s" ]
    # A request that the server finds when it wakes up may take the lock, for one lease at most.
    eventually 3s is_free "connecting-$s"
  done
}

@test "a signal while waiting: dlock dies by it, the holder is not touched, nothing is started" {
  local s before
  for s in TERM INT HUP QUIT USR1; do
    foreign_hold "waiting-$s"
    before=$(r hgetall "dlock:waiting-$s")
    dlock_run "$s" "waiting-$s" -- touch "$T/started-$s"
    eventually 5s heard "waiting-$s"
    kill -"$s" "$(cat "$T/$s.pid")"
    ends 5s "$s" "signal $(signal_number "$s")"
    [ ! -e "$T/started-$s" ]
    [ "$(r hgetall "dlock:waiting-$s")" = "$before" ]
    eventually 2s heard "waiting-$s" 0
    [ "$(r exists "dlock:holds:{dlock:waiting-$s}")" = 0 ]
  done
}

@test "a signal while the command runs: it goes to the whole group, dlock ends as the command did" {
  local s file
  for s in TERM INT HUP QUIT USR1; do
    file=$T/ticks-$s
    dlock_run "$s" "running-$s" -- "$TICKER" "$file" fork
    eventually 5s ticking "$file"
    kill -"$s" "$(cat "$T/$s.pid")"
    ends 5s "$s" "signal $(signal_number "$s")"
    ticker_gone "$file"
    assert_free "running-$s"
  done
}

@test "a signal while releasing: the lock is released when the server answers, the code is the command's" {
  local s
  for s in TERM INT HUP QUIT USR1; do
    dlock_run "$s" --ttl 10s "releasing-$s" -- sh -c "echo \$\$ >$T/child-$s; until [ -e $T/go-$s ]; do sleep 0.02; done; exit 7"
    eventually 5s file_has "$T/child-$s"
    kill -STOP "$REDIS_PID"
    touch "$T/go-$s"
    eventually 5s all_gone "$T/child-$s"
    kill -"$s" "$(cat "$T/$s.pid")"
    kill -CONT "$REDIS_PID"
    ends 5s "$s" "exit 7"
    eventually 2s is_free "releasing-$s"
  done
}

@test "a signal while releasing to a dead server: dlock does not wait out the lease, says what is left" {
  dlock_run a -v --log-format json --ttl 6s releasing-dead -- \
    sh -c "echo \$\$ >$T/child; until [ -e $T/go ]; do sleep 0.02; done; exit 7"
  eventually 5s file_has "$T/child"
  kill -STOP "$REDIS_PID"
  touch "$T/go"
  eventually 5s grep -q '"event":"reaped"' "$T/a.err" # dlock has seen it as well
  kill -TERM "$a_pid"
  ends 5s a "exit 7"
  grep -q "lease ends in" "$T/a.err"
  kill -CONT "$REDIS_PID"
  eventually 7s is_free releasing-dead
}

@test "P30: a signal at any moment of the start leaves neither process nor lock" {
  local i
  for i in $(seq 0 19); do
    dlock_run "s$i" --ttl 2s "moment-$i" -- sh -c "echo \$\$ >$T/child-$i; exec sleep 60"
    sleep "0.0$(printf %02d "$i")"
    kill -TERM "$(cat "$T/s$i.pid")"
    eventually 5s ended "s$i"
    # spawn.py itself may have been hit before it became dlock: still a death by TERM.
    [ "$(cat "$T/s$i.end")" = "signal 15" ] || { cat "$T/s$i.end" "$T/s$i.err"; false; }
    [ ! -s "$T/child-$i" ] || all_gone "$T/child-$i"
    is_free "moment-$i" || eventually 3s is_free "moment-$i"
  done
}

@test "P32: a second TERM during the grace kills at once" {
  dlock_run a --ttl 30s twice -- "$TICKER" "$TICKS" catch 15
  eventually 5s ticking
  kill -TERM "$a_pid"
  eventually 5s grep -q signal-15 "$TICKS"
  alive "$a_pid"
  kill -TERM "$a_pid"
  eventually 4s ended a  # the grace would have been 10 s
  grep -qE '^signal (9|15)$' "$T/a.end"
  ticker_gone
  assert_free twice
}

@test "P32: a second INT during the grace kills at once, and dlock dies by INT so that a script stops" {
  dlock_run a --ttl 30s twice-int -- "$TICKER" "$TICKS" catch 2
  eventually 5s ticking
  kill -INT "$a_pid"
  eventually 5s grep -q signal-2 "$TICKS"
  kill -INT "$a_pid"
  ends 4s a "signal 2"
  ticker_gone
  assert_free twice-int
}

@test "a command that does not end at TERM is killed after --kill-after" {
  dlock_run a --ttl 30s -k 3s stubborn -- "$TICKER" "$TICKS" catch 15 fork
  eventually 5s ticking
  kill -TERM "$a_pid"
  eventually 10s ended a
  grep -qE '^signal (9|15)$' "$T/a.end"
  ticker_gone
  assert_free stubborn
  # It had its three seconds, of which it has seen all that it ran.
  local said
  said=$(awk '/signal-15/ {printf "%d", $1 / 1000000; exit}' "$TICKS")
  [ $(($(last_tick) - said)) -ge 2000 ]
}

@test "TERM with --signal INT is still passed on as TERM" {
  dlock_run a --signal INT pass-on -- "$TICKER" "$TICKS"
  eventually 5s ticking
  kill -TERM "$a_pid"
  ends 5s a "signal 15"
}

@test "P31: signals that do not end anything reach the command, and only the command" {
  dlock_run a others -- "$TICKER" "$TICKS" catch 10 catch 12 catch 14 catch 28 catch 1
  eventually 5s ticking
  local n
  for n in 10 12 14 28 1; do
    kill -"$n" "$a_pid"
    eventually 5s grep -q "signal-$n$" "$TICKS"
  done
  alive "$a_pid"
  kill -TERM "$a_pid"
  ends 5s a "signal 15"
}

@test "a shell with a job in the background: none survives" {
  local s
  for s in TERM INT HUP; do
    dlock_run "$s" -k 2s "two-$s" -- sh -c "sleep 1000 & echo \$! >$T/pids-$s; echo \$\$ >>$T/pids-$s; sleep 1000"
    eventually 5s awk 'END {exit NR != 2}' "$T/pids-$s"
    kill -"$s" "$(cat "$T/$s.pid")"
    eventually 8s ended "$s"
    all_gone "$T/pids-$s"
    assert_free "two-$s"
  done
}

@test "P33: nohup is respected: HUP reaches neither dlock nor the command" {
  spawn a nohup "$DLOCK" run nohup -- "$TICKER" "$TICKS" until "$T/go" code 5
  eventually 5s ticking
  kill -HUP "$a_pid"
  sleep 0.5
  touch "$T/go"
  ends 8s a "exit 5"
  assert_free nohup
}

@test "P33: nohup is respected while dlock waits for the lock" {
  foreign_hold nohup-waits
  spawn a nohup "$DLOCK" run nohup-waits -- sh -c 'exit 5'
  eventually 5s heard nohup-waits
  kill -HUP "$a_pid"
  r del dlock:nohup-waits >/dev/null
  r publish "redisson_lock__channel:{dlock:nohup-waits}" 0 >/dev/null
  ends 8s a "exit 5"
  assert_free nohup-waits
}

@test "P33: an INT that the caller ignores stays ignored" {
  SPAWN_OPTIONS="--ignore INT" dlock_run a ignored -- "$TICKER" "$TICKS" until "$T/go" code 5
  eventually 5s ticking
  kill -INT "$a_pid"
  sleep 0.5
  touch "$T/go"
  ends 8s a "exit 5"
  assert_free ignored
}

@test "P33: the command sees the mask and the dispositions of the caller" {
  local options
  for options in "--ignore HUP,INT,USR2 --block USR1,TERM" "--ignore CHLD,PIPE,TSTP" "--block CHLD,INT,RTMIN" " "; do
    # shellcheck disable=SC2086  # words on purpose
    python3 -S "$PROGRAMS/spawn.py" $options -- grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status >"$T/direct"
    # shellcheck disable=SC2086
    python3 -S "$PROGRAMS/spawn.py" $options -- "$DLOCK" run mask -- grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status >"$T/under"
    diff "$T/direct" "$T/under"
  done
}

@test "a caller that ignores CHLD still gets the command's code" {
  SPAWN_OPTIONS="--ignore CHLD" dlock_run a no-chld -- sh -c 'exit 7'
  ends 5s a "exit 7"
  assert_free no-chld
}

@test "P29: a storm of signals that end nothing leaves the command and its code alone" {
  dlock_run a storm -- "$TICKER" "$TICKS" catch 10 catch 12 catch 28 until "$T/go" code 6
  eventually 5s ticking
  python3 - "$a_pid" <<'P'
import os, signal, sys
for i in range(10000):
    number = (signal.SIGUSR1, signal.SIGWINCH, signal.SIGCHLD, signal.SIGCONT, signal.SIGUSR2)[i % 5]
    os.kill(int(sys.argv[1]), number)
P
  touch "$T/go"
  ends 8s a "exit 6"
  grep -q ' end$' "$TICKS"
  assert_free storm
}

@test "P29: a storm with TERM and INT in it: one stop, one release" {
  dlock_run a storm-end -- "$TICKER" "$TICKS" catch 10 catch 12
  eventually 5s ticking
  redis-cli -s "$REDIS_SOCKET" monitor >"$T/monitor" 3>&- &
  STARTED+=($!)
  eventually 5s file_has "$T/monitor" OK
  python3 - "$a_pid" <<'P'
import os, signal, sys
try:
    for i in range(10000):
        number = (signal.SIGUSR1, signal.SIGWINCH, signal.SIGTERM, signal.SIGCHLD, signal.SIGINT)[i % 5]
        os.kill(int(sys.argv[1]), number)
except ProcessLookupError:
    pass
P
  eventually 8s ended a
  grep -qE '^signal (2|9|15)$' "$T/a.end"
  ticker_gone
  assert_free storm-end
  r echo marker >/dev/null
  eventually 5s file_has "$T/monitor" marker
  # By its six keys; the look of a holder, a second after the grant, has three.
  [ "$(grep -cE '"EVALSHA" "[0-9a-f]+" "6" "dlock:storm-end"' "$T/monitor")" = 1 ]
  [ "$(r exists storm-end)" = 0 ]
}

@test "kill -9 of dlock: the command dies with it, the lock is free after its lease" {
  dlock_run a --ttl 2s murdered -- "$TICKER" "$TICKS"
  eventually 5s ticking
  kill -KILL "$a_pid"
  ends 5s a "signal 9"
  eventually 2s ticker_gone
  eventually 3s is_free murdered
  run -0 "$DLOCK" run -n murdered -- true
}

@test "what a command leaves in its group is stopped before the lock is released, with a warning" {
  dlock_run a left -- sh -c "$TICKER $TICKS & until [ -e $T/go ]; do sleep 0.01; done; exit 3"
  eventually 5s ticking
  dlock_run b left -- "$TICKER" "$T/ticks-next" for 20
  eventually 5s heard left
  touch "$T/go"
  ends 8s a "exit 3"
  ends 8s b "exit 0"
  grep -q "left processes behind" "$T/a.err"
  ticker_gone
  [ "$(first_tick "$T/ticks-next")" -ge "$(last_tick)" ]
  assert_free left
}

@test "what a command leaves and does not end at TERM is killed before the release" {
  dlock_run a left-deaf -- sh -c "$TICKER $TICKS ignore 15 & until [ -s $TICKS ]; do sleep 0.01; done; exit 0"
  ends 8s a "exit 0"
  ticker_gone
  assert_free left-deaf
}

@test "P21: a daemon that left the session is not waited for, though it holds stdout" {
  # shellcheck disable=SC2016  # for the inner shell
  python3 - "$DLOCK" "$T/daemon" <<'P'
import subprocess, sys
dlock, file = sys.argv[1:]
child = subprocess.Popen([dlock, "run", "daemon", "--", "sh", "-c",
                          'setsid sh -c "echo \\$\\$ >$0; exec sleep 30" & '
                          'until [ -s "$0" ]; do sleep 0.01; done; exit 0', file],
                         stdout=subprocess.PIPE)
sys.exit(child.wait(timeout=8))
P
  assert_free daemon
  alive "$(cat "$T/daemon")"
  kill -KILL "$(cat "$T/daemon")"
}

@test "P22: a job in the background of the command's shell that keeps stdout open does not keep dlock" {
  python3 - "$DLOCK" <<'P'
import subprocess, sys
child = subprocess.Popen([sys.argv[1], "run", "open", "--", "sh", "-c", "sleep 30 & exit 4"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
sys.exit(0 if child.wait(timeout=8) == 4 else 1)
P
  assert_free open
}

@test "P25: as process 1 of a container it obeys TERM, exits with 128+n and reaps what it adopts" {
  unshare -pf --mount-proc true 2>/dev/null || skip "no right to make a pid namespace"
  spawn a unshare -pf --mount-proc "$DLOCK" run pid1 -- sh -c "
    for i in \$(seq 1000); do (true & true); done
    for try in \$(seq 100); do
      sleep 0.1
      cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) //' | grep -c ^Z >$T/zombies || break
    done
    echo ready >$T/ready
    exec sleep 60"
  eventually 20s file_has "$T/ready"
  [ "$(cat "$T/zombies")" = 0 ]
  local inner
  inner=$(cat "/proc/$a_pid/task/$a_pid/children")
  kill -TERM "${inner% }"
  ends 5s a "exit 143"
  assert_free pid1
}

@test "P20: a command that was stopped keeps its lock, and its code" {
  dlock_run a --ttl 4s -k 200ms stopped -- "$TICKER" "$TICKS" until "$T/go" code 8
  eventually 5s ticking
  local pid
  pid=$(awk '{print $2; exit}' "$TICKS")
  kill -STOP "$pid"
  local end=$((SECONDS + 6))
  while [ "$SECONDS" -lt "$end" ]; do
    [ "$(hold_count stopped)" = 1 ]
    sleep 0.1
  done
  touch "$T/go"
  kill -CONT "$pid"
  ends 8s a "exit 8"
  [ ! -s "$T/a.err" ]
}

@test "P20: TERM reaches a command that was stopped" {
  dlock_run a --ttl 30s stopped-term -- "$TICKER" "$TICKS"
  eventually 5s ticking
  kill -STOP "$(awk '{print $2; exit}' "$TICKS")"
  kill -TERM "$a_pid"
  ends 5s a "signal 15"
  assert_free stopped-term
}

@test "P35: a command killed by a signal: dlock dies by the same, without a core of its own" {
  local n
  ulimit -c unlimited || true
  cd "$T"
  for n in 1 2 3 4 6 8 9 10 11 12 13 14 15 24; do
    dlock_run "n$n" "dies-$n" -- sh -c "ulimit -c 0; kill -$n \$\$"
    ends 5s "n$n" "signal $n"
    assert_free "dies-$n"
  done
}
