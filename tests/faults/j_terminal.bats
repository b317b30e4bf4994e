#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Job control and the guard: a job that stands still on a terminal is no danger when its lease ends.
# The other rows J are in cli/terminal.
# shellcheck disable=SC2154  # *_pid are set by spawn

load ../support/suite
suite server ticker faults

setup() {
  set_up
  export TERM=xterm HISTFILE=/dev/null
  echo "PS1='ready> '" >"$T/rc"
  shell=(bash --noprofile --rcfile "$T/rc" --noediting -i)
}

play() { run --separate-stderr timeout 60 python3 -S "$PROGRAMS/pty_run.py" "$@" 3>&-; }
played() {
  [ "$status" -eq 0 ] && return
  echo "status $status"
  echo "$output" | tail -30
  echo "$stderr"
  return 1
}

@test "J04: Ctrl-Z, and another continues the command late: not one instruction more, 79" {
  # The shell does not know of it: the CONT goes to the command's group, not to dlock.
  play 'expect:ready> ' "send:$DLOCK run --ttl 3s continued -- $TICKER $TICKS fork\r" \
    "file:$TICKS=tick" 'send:\x1a' expect:Stopped 'expect:ready> ' "run:cp $TICKS $T/at-stop" \
    pause:4 "run:awk '{print \$2}' $TICKS | sort -u | xargs -r kill -CONT 2>/dev/null; true" \
    pause:0.5 "run:cmp $T/at-stop $TICKS" \
    'send:fg\r' 'expect:ready> ' 'send:echo code=$?\r' expect:code=79 'expect:ready> ' \
    'send:exit 0\r' -- "${shell[@]}"
  played
  cmp "$T/at-stop" "$TICKS"
  assert_free continued
}

@test "J04: Ctrl-Z, and another continues the command in time: it runs until its lease ends" {
  play 'expect:ready> ' "send:$DLOCK run --ttl 3s early -- $TICKER $TICKS ignore 15 fork\r" \
    "file:$TICKS=tick" 'send:\x1a' expect:Stopped 'expect:ready> ' \
    "run:. $SUPPORT/supervise.bash
      redis-cli -s $REDIS_SOCKET pttl dlock:early >$T/left; boot_ms >$T/now
      awk '{print \$2}' $TICKS | sort -u | xargs -r kill -CONT" \
    pause:4 'send:fg\r' 'expect:ready> ' 'send:echo code=$?\r' expect:code=79 'expect:ready> ' \
    'send:exit 0\r' -- "${shell[@]}"
  played
  dead_by $(($(cat "$T/now") + $(cat "$T/left")))
  assert_free early
}
