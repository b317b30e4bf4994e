# SPDX-License-Identifier: MIT
# Functions that only the suites of the command line need.
# shellcheck shell=bash disable=SC2034  # the suites read what is set here

# words ARG…: prints its arguments, each followed by a NUL, as hexadecimal digits, so that empty
# words and line breaks can be compared.
words() { printf '%s\0' "$@" | od -An -v -tx1 | tr -d ' \n'; }

# Sets MARKER, a file that does not exist. The command of a test makes it, so that the test can tell
# whether the command ran.
make_marker() {
  MARKER=$BATS_TEST_TMPDIR/started
  export MARKER
}
assert_not_started() { [ ! -e "$MARKER" ] || fail "the command was started"; }

# Checks that stderr is one line of dlock: dlock writes one line for each event.
assert_one_line() {
  # shellcheck disable=SC2154  # set by run --separate-stderr
  [ "${#stderr_lines[@]}" = 1 ] || fail "not one line: $stderr"
  [[ ${stderr_lines[0]} == "dlock: "* ]] || fail "not a line of dlock: $stderr"
}
assert_stderr_has() { [[ $stderr == *"$1"* ]] || fail "no \"$1\" in: $stderr"; }
refute_stderr_has() { [[ $stderr != *"$1"* ]] || fail "\"$1\" in: $stderr"; }
assert_no_stderr() { [ -z "$stderr" ] || fail "stderr: $stderr"; }

# fresh [WORD]: prints the name of a lock that no other test of this file uses.
fresh() { printf 't%s-%s' "$BATS_TEST_NUMBER" "${1:-lock}"; }

# hold NAME [OPTION…]: starts a dlock that holds NAME until let_go; sets HOLDER (its pid).
hold() {
  local name=$1
  shift
  rm -f "$BATS_TEST_TMPDIR/held" "$BATS_TEST_TMPDIR/go"
  # shellcheck disable=SC2016  # for the child to expand
  "$DLOCK" run "$@" "$name" -- sh -c 'echo $$ >"$0/held.tmp"; mv "$0/held.tmp" "$0/held"
    until [ -e "$0/go" ]; do sleep 0.02; done' "$BATS_TEST_TMPDIR" \
    2>"$BATS_TEST_TMPDIR/holder.err" 3>&- &
  HOLDER=$!
  eventually 10s test -e "$BATS_TEST_TMPDIR/held" ||
    fail "no lock for the holder: $(cat "$BATS_TEST_TMPDIR/holder.err")"
}
let_go() {
  touch "$BATS_TEST_TMPDIR/go"
  wait "$HOLDER"
}

# free_port: prints a TCP port on which no process listens, and that no other process gets before
# the server starts.
free_port() { python3 -S "$PROGRAMS/free_port.py"; }

# fake_server MODE [TEXT]: starts fake_server.py; sets FAKE_PORT and FAKE_PID.
fake_server() {
  local out=$BATS_TEST_TMPDIR/fake.port
  : >"$out"
  python3 -S "$PROGRAMS/fake_server.py" "$@" >"$out" 2>"$BATS_TEST_TMPDIR/fake.err" 3>&- &
  FAKE_PID=$!
  eventually 10s test -s "$out"
  FAKE_PORT=$(cat "$out")
}

# second_redis OPTION…: starts another server for one test; sets SECOND_SOCKET and SECOND_PID.
second_redis() {
  SECOND_SOCKET=$BATS_TEST_TMPDIR/second.sock
  mkdir -p "$BATS_TEST_TMPDIR/second"
  redis-server --port 0 --unixsocket "$SECOND_SOCKET" --save '' --appendonly no \
    --dir "$BATS_TEST_TMPDIR/second" "$@" >"$BATS_TEST_TMPDIR/second.log" 2>&1 3>&- &
  SECOND_PID=$!
  SECOND_URL=redis+unix://$SECOND_SOCKET
  eventually 10s second_answers
}
second_answers() { [ -n "$(redis-cli -s "$SECOND_SOCKET" ping 2>/dev/null)" ]; }
r2() { redis-cli -s "$SECOND_SOCKET" "$@"; }

# For teardown: ends the processes, other than dlock, that a test started.
end_helpers() {
  # shellcheck disable=SC2086  # words
  end_ours ${FAKE_PID:-} ${SECOND_PID:-} ${OTHER_PIDS:-}
}

# json PATH: prints the value at PATH (a Python expression on `d`) of the JSON on stdin.
json() { python3 -S -c 'import json, sys
d = json.load(sys.stdin)
v = eval(sys.argv[1])
print(v if isinstance(v, str) else json.dumps(v))' "$1"; }

# every_command DO: calls DO with the words of each dlock command, for Redis at $DLOCK_URL. It needs
# new lock names.
every_command() {
  "$@" run "$(fresh a)" -- true
  "$@" run --ttl 3s -k 200ms --reason why "$(fresh a)" -- sleep 1.2 # renews
  "$@" run "$(fresh a)" -- "$DLOCK" run "$(fresh a)" -- true
  hold "$(fresh b)"
  "$@" run -w 300ms "$(fresh b)" -- true || true # waits
  "$@" inspect "$(fresh b)" "$(fresh a)"
  "$@" list
  "$@" force-release --if-token 1 --yes "$(fresh b)" || true
  "$@" force-release --now --yes "$(fresh b)"
  let_go || true
  hold "$(fresh c)" --ttl 3s
  "$@" force-release --yes "$(fresh c)"
  wait "$HOLDER" || true
}
