# SPDX-License-Identifier: MIT
# Shared by cli suites: dlock ends in time, in one line, and starts nothing.
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154  # for the shell there; what run leaves

if [ -z "${MEMORY_KIB:-}" ]; then
  export MEMORY_KIB=300000
  ! sanitized || MEMORY_KIB=unlimited
fi

# refused STATUS WORD…: checks that dlock WORD… ends with STATUS and one line and starts nothing, in
# under 5 s and 300 MB.
refused() {
  local want=$1 before=${EPOCHREALTIME/./}
  shift
  run -"$want" --separate-stderr timeout -s KILL 10 bash -c 'ulimit -v "$MEMORY_KIB"; exec "$DLOCK" "$@"' - "$@"
  [ $((${EPOCHREALTIME/./} - before)) -lt 5000000 ] || fail "took $((${EPOCHREALTIME/./} - before)) us"
  assert_output ""
  # A dlock that has waited for a second says so in a line that does not count.
  # shellcheck disable=SC2034  # read by assert_one_line
  [[ " $* " != *" -w "* ]] || mapfile -t stderr_lines < <(grep -v '^dlock: waiting ' <<<"$stderr")
  assert_one_line
  refute_stderr_has 'internal error'
  assert_not_started
}
try_run() { # STATUS OPTION…
  local want=$1
  shift
  refused "$want" --connect-timeout "${LIMIT:-500ms}" "$@" run x -- touch "$MARKER"
}
