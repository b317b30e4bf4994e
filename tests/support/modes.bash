# SPDX-License-Identifier: MIT
# For the suites of the ways to hold: crowds of runs whose holds are judged by rules, and what a
# lock looks like from outside. A part of suite.bash.
# MODES_FULL=1: crowds run for a minute instead of some seconds.
# shellcheck shell=bash disable=SC2154  # T is set by supervise.bash

# Compiles mode_section.cpp, once for each test file; sets SECTION.
build_section() {
  export SECTION=$BATS_FILE_TMPDIR/mode_section
  "${CXX:-c++}" -O1 -o "$SECTION" "$PROGRAMS/mode_section.cpp"
}

# crowd KIND [SECONDS]: see modes.py; shows the figures.
crowd() {
  local seconds=${2:-8}
  [ -z "${MODES_FULL:-}" ] || seconds=60
  run timeout 300 python3 -B "$PROGRAMS/modes.py" "$1" "$seconds" "$T"
  grep '^# ' <<<"$output" >&3 || true
  [ "$status" = 0 ] || fail "$output: $(cat "$T"/*.err | grep -v ' waiting ' | sort | uniq -c | sort -rn | head -5)"
}

# wrong_crowd KIND: runs a crowd that breaks a rule; the judge must find that.
wrong_crowd() {
  run timeout 120 python3 -B "$PROGRAMS/modes.py" "$1" 3 "$T"
  [ "$status" = 1 ] || fail "not found: $output"
  assert_output --regexp '[0-9]+ violations'
}

# What a holder runs until `go WHO`: it leaves its environment in $T/WHO.env.
# shellcheck disable=SC2016  # for the inner shell
inside='env | grep ^DLOCK_ >"$0.new"; mv "$0.new" "$0.env"; until [ -e "$0.go" ]; do sleep 0.02; done'

# come WHO ARG…: starts `dlock run ARG…` with that command in the background. Sets WHO_pid.
come() {
  local who=$1
  shift
  rm -f "$T/$who.env" "$T/$who.go"
  dlock_run "$who" "$@" -- sh -c "$inside" "$T/$who"
}
# inside WHO…: succeeds if their commands have begun. outside WHO…: checks that these have not
# begun. still WHO…: checks that they have begun and still run.
inside() { local who; for who; do [ -e "$T/$who.env" ] || return 1; done; }
outside() { local who; for who; do [ ! -e "$T/$who.env" ] || fail "$who has entered" || return; done; }
still() { local who; for who; do { inside "$who" && ! ended "$who"; } || fail "$who has ended" || return; done; }
# enter WHO ARG…: as come, but returns when the command runs.
enter() {
  come "$@"
  eventually 20s inside "$1" || fail "$1 does not enter: $(cat "$T/$1.err")"
}
# enters WHO: waits until the command of WHO, which was started before, runs.
enters() { eventually 20s inside "$1" || fail "$1 does not enter: $(cat "$T/$1.err")"; }
# go WHO…: lets their commands end, and waits until their runs have ended.
go() {
  local who
  for who; do touch "$T/$who.go"; done
  for who; do ends 20s "$who" "exit 0"; done
}
# of WHO VARIABLE: prints the variable that the command of WHO got; nothing if it has no such
# variable.
of() { sed -n "s/^$2=//p" "$T/$1.env"; }

# queue WHO ARG…: as come, but returns when the run waits in the line of NAME, the last of ARG.
queue() {
  local name=${*: -1} before
  before=$(r zcard "dlock:line:{dlock:$name}")
  come "$@"
  eventually 20s in_line_are "$name" $((before + 1)) || fail "$1 does not stand: $(cat "$T/$1.err")"
}
in_line_are() { [ "$(r zcard "dlock:line:{dlock:$1}")" = "$2" ]; }

# Prints the remaining lease of one of several owners, in ms; -2: it is over.
own_lease() { r pttl "{dlock:$1}:$2:rwlock_timeout:1"; }
# lease_end NAME OWNER: prints the earliest time at which this lease can end, in µs of the server's
# clock. Tokens are such times too.
lease_end() {
  local now left
  now=$(r time | tr -d '\r' | xargs printf '%d%06d')
  left=$(own_lease "$1" "$2")
  echo $((now + left * 1000 - 1000))
}

# kill_both WHO: kills dlock and its guard, so that no process releases the lock, and then the
# command.
kill_both() {
  local pid=${1}_pid guard
  pid=${!pid}
  kill -STOP "$pid"
  guard=$(eventually 5s pgrep -P "$pid" -x lease-guard) # it names itself
  kill -KILL "$guard"
  pkill -KILL -P "$pid"
  kill -KILL "$pid"
}

# refused STATUS PATTERN ARG…: checks that `dlock run ARG… -- touch $MARKER` ends at once with
# STATUS and one line that PATTERN matches, and runs nothing.
refused() {
  local wanted=$1 pattern=$2
  shift 2
  run "-$wanted" --separate-stderr timeout 20 "$DLOCK" run "$@" -- touch "$MARKER"
  assert_one_line
  [[ $stderr =~ $pattern ]] || fail "not like $pattern: $stderr"
  assert_not_started
}

# in_a_directory: from here on, the locks of this test are files in a directory.
in_a_directory() {
  DLOCK_URL=local://$T/locks
  export DLOCK_URL
}
