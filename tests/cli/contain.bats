#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# With --contain every descendant of the command belongs to it: daemons are waited for, get the
# signals, and die in time with the lease or with dlock. Without it they are told of.
# shellcheck disable=SC2030,SC2031,SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells

load ../support/suite
suite server ticker contain

# The newest end of the lease of the run NAME that wrote events, in ns.
safe_until() { grep -o '"safe_until_ns":[0-9]*' "$T/$1.err" | tail -1 | cut -d: -f2; }
# The ticker did nothing after the end of the lease of NAME.
in_time() {
  local late
  late=$(late_by $(($(safe_until "$1") / 1000000)))
  [ "$late" = 0 ] || fail "the last tick came $late ms after the lease of $1:
$(tail -12 "$TICKS" "$T/$1.err")"
}
told() { grep -c "$2" "$T/$1.err" || true; }

@test "P21: a daemon of the command is waited for, and the lock is released after it" {
  dlock_run a --contain --ttl 3s -k 200ms daemon -- sh -c "$(daemon for 4500) exit 3"
  eventually 10s ticking
  dlock_run b -w 60 daemon -- "$TICKER" "$T/ticks-next" for 20
  ends 15s a "exit 3"
  ticker_gone
  grep -q ' end$' "$TICKS"
  ends 15s b "exit 0"
  [ "$(last_tick)" -lt "$(first_tick "$T/ticks-next")" ]
  [ ! -s "$T/a.err" ]
}

@test "P21: without --contain a daemon runs on without the lock, with one warning" {
  dlock_run a stray -- sh -c "$(daemon for 60000) exit 3"
  ends 15s a "exit 3"
  run ! ticker_gone
  assert_free stray
  [ "$(told a '1 process of the command left its process group')" = 1 ]
  [ "$(wc -l <"$T/a.err")" = 1 ]
}

@test "two daemons are two strays, as an event too" {
  dlock_run a --log-format json strays -- \
    sh -c "setsid -f sleep 61; $(daemon for 60000) exit 3"
  ends 15s a "exit 3"
  [ "$(told a '"event":"strays"')" = 1 ]
  grep -q '2 processes of the command left its process group' "$T/a.err"
}

@test "a command that runs under a dlock of its own is one stray" {
  dlock_run a stray-run -- sh -c "setsid -f '$DLOCK' run other $TICKER $TICKS
    until grep -qs tick $TICKS; do sleep 0.02; done; exit 3"
  ends 15s a "exit 3"
  [ "$(told a ' 1 process of the command left its process group')" = 1 ]
}

@test "a dlock that waits for another lock is one stray" {
  r hset dlock:taken foreign:1 1
  dlock_run a stray-wait -- sh -c "setsid -f '$DLOCK' run -w 20s taken true
    until [ \"\$(redis-cli -s $REDIS_SOCKET zcard 'dlock:line:{dlock:taken}')\" = 1 ]; do sleep 0.02; done"
  ends 15s a "exit 0"
  [ "$(told a ' 1 process of the command left its process group')" = 1 ]
  r del dlock:taken
  r publish 'redisson_lock__channel:{dlock:taken}' 0
}

@test "a daemon that ended with the command causes no warning" {
  # What kill(1) has ended may still be on its way out when kill returns.
  dlock_run a no-stray -- sh -c "$(daemon for 60000) pid=\$(awk 'END {print \$2}' $TICKS)
    kill -KILL \$pid
    while grep -q '^State:.[^XZ]' /proc/\$pid/status 2>/dev/null; do sleep 0.01; done"
  ends 15s a "exit 0"
  [ ! -s "$T/a.err" ]
}

@test "TERM and INT to dlock reach a daemon while the command runs" {
  local signal
  for signal in TERM INT; do
    dlock_run a --contain reach -- \
      sh -c "trap 'exit 4' $signal; $(daemon) while :; do sleep 0.02; done"
    eventually 10s ticking
    kill -"$signal" "$a_pid"
    ends 15s a "exit 4"
    ticker_gone
    assert_free reach
    rm "$TICKS"
  done
}

@test "TERM to dlock after the end of the command ends what it waits for" {
  dlock_run a --contain -v after -- sh -c "$(daemon) exit 4"
  eventually 10s grep -q 'the lock is kept until its descendants have ended' "$T/a.err"
  key_exists after
  kill -TERM "$a_pid"
  ends 15s a "exit 4"
  ticker_gone
  assert_free after
}

@test "a daemon that is deaf to TERM is killed after --kill-after" {
  dlock_run a --contain -k 200ms deaf -- sh -c "$(daemon catch 15) sleep 61"
  eventually 10s ticking
  kill -TERM "$a_pid"
  ends 15s a "signal 15"
  ticker_gone
  grep -q ' signal-15$' "$TICKS"
  assert_free deaf
}

@test "a lock that was taken away: a deaf daemon is dead before the lease could end" {
  dlock_run a --contain -v --log-format json --ttl 3s lost -- sh -c "$(daemon ignore 15) sleep 61"
  eventually 10s ticking
  r del dlock:lost
  ends 20s a "exit 79"
  ticker_gone
  in_time a
}

@test "a store that does not answer: a deaf daemon is dead before the lease ends" {
  dlock_run a --contain -v --log-format json --ttl 3s mute -- sh -c "$(daemon ignore 15) sleep 61"
  eventually 10s ticking
  kill -STOP "$REDIS_PID"
  eventually 20s ticker_gone
  in_time a
  kill -CONT "$REDIS_PID"
  ends 20s a "exit 79"
}

@test "a daemon whose command has ended is dead before the lease ends, too" {
  dlock_run a --contain -v --log-format json --ttl 3s late -- sh -c "$(daemon ignore 15) exit 3"
  eventually 10s grep -q '"event":"outlived"' "$T/a.err"
  kill -STOP "$REDIS_PID"
  eventually 20s ticker_gone
  in_time a
  kill -CONT "$REDIS_PID"
  eventually 20s ended a
}

@test "a dlock that is killed takes the daemon with it, by its cgroup" {
  need_cgroup
  dlock_run a --contain -v --log-format json --ttl 10s killed -- \
    sh -c "$(daemon ignore 15) exec sleep 61"
  eventually 10s ticking
  MADE+=("$CGROUP/dlock-$a_pid")
  kill -KILL "$a_pid"
  eventually 20s ticker_gone
  in_time a
}

@test "a dlock that is frozen: its daemon is dead before the lease ends, by the cgroup" {
  need_cgroup
  dlock_run a --contain -v --log-format json --ttl 3s frozen -- \
    sh -c "$(daemon ignore 15) exec sleep 61"
  eventually 10s ticking
  kill -STOP "$a_pid"
  eventually 20s ticker_gone
  in_time a
  kill -CONT "$a_pid"
  ends 20s a "exit 79"
}

@test "the command runs in a cgroup of its own, which goes with it" {
  need_cgroup
  dlock_run a --contain home -- \
    sh -c "cat /proc/self/cgroup; until [ -e $T/go ]; do sleep 0.02; done"
  eventually 10s grep -q "^0::.*/dlock-$a_pid\$" "$T/a.out"
  [ -d "$CGROUP/dlock-$a_pid" ]
  touch "$T/go"
  ends 15s a "exit 0"
  [ ! -e "$CGROUP/dlock-$a_pid" ]
}

# bats test_tags=nightly
@test "no cgroup is left by a run that came to nothing" {
  need_cgroup
  r hset dlock:nothing 11111111-2222-3333-4444-555555555555:1 1
  dlock_run a --contain -n nothing -- true
  ends 15s a "exit 75"
  dlock_run b --contain free -- /nonexistent/command
  ends 15s b "exit 127"
  spawn c "$DLOCK" --url redis+unix:///nonexistent/socket run --contain nothing -- true
  ends 15s c "exit 69"
  spawn d "$DLOCK" --url local:// run --contain nothing -- true
  eventually 15s ended d
  spawn e "$DLOCK" --prefix '' run --contain '{x}' -- true
  eventually 15s ended e
  local pid
  for pid in "$a_pid" "$b_pid" "$c_pid" "$d_pid" "$e_pid"; do [ ! -e "$CGROUP/dlock-$pid" ]; done
  r del dlock:nothing
}

@test "a cgroup of its name that an earlier one left is taken over" {
  need_cgroup
  spawn a sh -c 'mkdir "$1/dlock-$$" && exec "$0" run --contain taken -- cat /proc/self/cgroup' \
    "$DLOCK" "$CGROUP"
  ends 15s a "exit 0"
  grep -q "^0::.*/dlock-$a_pid\$" "$T/a.out"
  [ ! -e "$CGROUP/dlock-$a_pid" ]
}

@test "a cgroup of its name in which others live is left alone, and the daemon waited for" {
  need_cgroup
  spawn other sleep 61
  spawn a sh -c 'mkdir "$1/dlock-$$" && echo "$3" >"$1/dlock-$$/cgroup.procs" &&
    exec "$0" run --contain taken -- sh -c "$2"' \
    "$DLOCK" "$CGROUP" "$(daemon for 1000) exit 3" "$other_pid"
  MADE+=("$CGROUP/dlock-$a_pid")
  ends 15s a "exit 3"
  ticker_gone
  grep -q ' end$' "$TICKS"
  alive "$other_pid"
  [ "$(cat "$CGROUP/dlock-$a_pid/cgroup.procs")" = "$other_pid" ]
}

@test "where no cgroup can be made, a daemon is waited for" {
  without_cgroup a --contain tree -- sh -c "cat /proc/self/cgroup; $(daemon for 1500) exit 3"
  ends 15s a "exit 3"
  ticker_gone
  grep -q ' end$' "$TICKS"
  run ! grep -q dlock- "$T/a.out"
  assert_free tree
}

@test "where no cgroup can be made, a deaf daemon is killed in time" {
  without_cgroup a --contain -v --log-format json --ttl 3s tree-lost -- \
    sh -c "$(daemon ignore 15) sleep 61"
  eventually 10s ticking
  r del dlock:tree-lost
  ends 20s a "exit 79"
  ticker_gone
  in_time a
}

@test "a daemon of a nested run belongs to the outer one" {
  dlock_run a --contain outer -- "$DLOCK" run inner -- sh -c "$(daemon for 2000) exit 3"
  ends 15s a "exit 3"
  ticker_gone
  grep -q ' end$' "$TICKS"
  assert_free outer
  assert_free inner
}

@test "contained runs nest: all is waited for, and no cgroup is left" {
  dlock_run a --contain outer -- sh -c "'$DLOCK' run --contain outer -- \
    sh -c '$(daemon for 2000) exit 4'; echo \$?; grep -q ' end\$' $TICKS && exit 3"
  ends 15s a "exit 3"
  [ "$(cat "$T/a.out")" = 4 ]
  assert_free outer
  need_cgroup
  [ ! -e "$CGROUP/dlock-$a_pid" ]
}

@test "a nested run that is killed leaves its daemon to the outer one, which kills it" {
  dlock_run a --contain -k 300ms outer -- sh -c "'$DLOCK' run inner -- sh -c '
    echo \$PPID >$T/inner; $(daemon ignore 15) sleep 61'; exit 3"
  eventually 10s ticking
  kill -KILL "$(cat "$T/inner")"
  key_exists outer
  alive "$a_pid"
  run ! ticker_gone
  kill -TERM "$a_pid"
  ends 15s a "exit 3"
  ticker_gone
  assert_free outer
}

# without_proc SCRIPT: a shell script in a pid namespace of its own, whose /proc is that of another
# one, or empty.
without_proc() {
  local empty
  unshare -pfm true 2>/dev/null || skip "no right to make a pid namespace"
  for empty in true "mount -t tmpfs none /proc"; do
    rm -f "$TICKS"
    # Not by the first process there: that is the parent of all orphans.
    timeout 60 unshare -pfm sh -c "$empty && sh -c '$1'; exit \$?"
  done
}

said_nothing() { ! grep -v '^==[0-9]*==WARNING: reading executable name' <<<"${stderr:-}" | grep .; } # a sanitizer's

@test "without a /proc of its own a contained run ends when its command does, and says nothing" {
  run -0 --separate-stderr without_proc "$DLOCK run --contain --ttl 5s no-proc -- true"
  said_nothing
  assert_free no-proc
}

# bats test_tags=nightly
@test "without a /proc of its own a contained run waits for what its command has left" {
  run -0 --separate-stderr without_proc "$DLOCK run --contain --ttl 5s no-proc -- \
    sh -c \"setsid $TICKER $TICKS for 2500 & until [ -s $TICKS ]; do sleep 0.02; done\"
    tail -n 1 $TICKS"
  [[ ${lines[0]} == *end && ${lines[1]} == *end ]]
  said_nothing
  assert_free no-proc
}

@test "without a /proc of its own the guard kills what a killed dlock has waited for" {
  run -0 --separate-stderr without_proc "$DLOCK run -v --log-format json --contain --ttl 2s guarded -- \
      sh -c \"$TICKER $TICKS ignore 15 & until [ -s $TICKS ]; do sleep 0.02; done\" 2>$T/events &
    until grep -q reaped $T/events; do sleep 0.02; done
    kill -KILL \$! && sleep 0.3
    wc -l <$TICKS; sleep 0.3; wc -l <$TICKS; rm $T/events"
  [ "${#lines[@]}" = 4 ]
  [ "${lines[0]} ${lines[2]}" = "${lines[1]} ${lines[3]}" ]
}

# chain SCRIPT: a command that ends at once, and leaves a process that forks and ends, four hundred
# times over, each in a session of its own if $SETSID; the last one becomes SCRIPT.
chain() {
  echo "$1" >"$T/last"
  echo "use POSIX; \$SIG{TERM} = 'IGNORE';
    for (1 .. 400) { POSIX::_exit(0) if fork; POSIX::setsid() if \$ENV{SETSID} }
    exec 'sh', '$T/last'"
}

@test "a process that is born while its parent dies is waited for" {
  local round
  for round in 1 2 3 4 5; do
    SETSID=1 "$DLOCK" run --contain born -- perl -e "$(chain "sleep 0.3; >$T/end-$round")" 3>&-
    [ -e "$T/end-$round" ]
  done
}

# bats test_tags=nightly
@test "a process that is born while its parent dies does not outlive the lock" {
  local round
  for round in {1..12}; do
    "$DLOCK" run born -- perl -e "$(chain "sleep 5; true")" 2>/dev/null 3>&-
    run ! pgrep -f "$T/last"
  done
}
