# SPDX-License-Identifier: MIT
# Loaded by every bats file that needs more than bats: what the suites share, and the set-up of a
# suite, which says what it needs in one line (see suite). Each file has its own redis-server on a
# unix socket in its own folder; nothing outside BATS_FILE_TMPDIR is touched but the counter of ports
# (free_port), and only processes started here are ended, by pid.
# shellcheck shell=bash

bats_require_minimum_version 1.5.0

# Switches the DEBUG trap of bats off, which notes the position of every command for the report of a
# failure. It takes a third of the processor time of these suites. The ERR trap notes the position
# too, except after `exit` and in a teardown.
eval "$(declare -f bats_setup_tracing | sed '1s/^/traced_/')"
bats_setup_tracing() {
  traced_bats_setup_tracing
  trap - DEBUG
  # shellcheck disable=SC2034  # bats reads them
  BATS_DEBUG_LAST_STACK_TRACE=() BATS_DEBUG_LASTLAST_STACK_TRACE=()
  trap note_failure ERR
}
note_failure() { bats_error_trap; bats_capture_stack_trace; }

PROJECT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PROJECT
DLOCK=${DLOCK:-$PROJECT/build/dev/dlock}
export DLOCK
# These variables are meant for ./dev; each dlock would warn of them.
unset DLOCK_PRESET DLOCK_LANES DLOCK_FILE_TIMEOUT DLOCK_CONTRACT DLOCK_DIFFERENTIAL DLOCK_MUTANTS_DIR
# An ordinary user's PATH often lacks the folders of mariadbd, nft and ip.
PATH=$PATH:/usr/sbin:/sbin
SUPPORT=$PROJECT/tests/support
# python3 -S starts those that need no package of Python: several times as fast as with a folder of them.
PROGRAMS=$SUPPORT/programs
export SUPPORT PROGRAMS

# suite PART…: what the tests of a file need. A PART is one of
#   server                       a redis-server for the file, at DLOCK_URL
#   empty                        it has no keys when a test begins
#   ticker section clock_shim    this program, compiled once for the file
#   cli supervise line modes …   the file of this name beside this one, with what it builds on
# The functions that bats calls are made of that. A suite that needs more defines its own setup,
# teardown or setup_file, which calls set_up, clean_up or set_up_file.
suite() {
  local part
  for part; do
    case $part in
      line | modes) suite cli supervise ;;
      leases | clocks | network | faults | contain) suite supervise ;;
    esac
    has_part "$part" || PARTS+=("$part")
    # shellcheck source=/dev/null
    [ ! -e "$SUPPORT/$part.bash" ] || . "$SUPPORT/$part.bash"
  done
}
PARTS=()
has_part() { [[ " ${PARTS[*]} " == *" $1 "* ]]; }

# shellcheck disable=SC2119
setup_file() { set_up_file; }
setup() { set_up; }
teardown() { clean_up; }
teardown_file() { stop_redis; }

# set_up_file [OPTION…]: does for the file what its PARTs need. The OPTIONs are for the
# redis-server.
# shellcheck disable=SC2120  # suites pass them
set_up_file() {
  local program
  clean_environment
  ! has_part server || start_redis "$@"
  for program in ticker section clock_shim; do
    ! has_part $program || "build_$program"
  done
  ! has_part server || ! has_part supervise || prime_scripts
}

# load_assertions: loads bats-support and bats-assert as bats_load_library does, but without a process
# for each of their files: these take longer than all else that bats does for a test.
load_assertions() {
  local folders folder library file
  IFS=: read -ra folders <<<"$BATS_LIB_PATH"
  for library in bats-support bats-assert; do
    for folder in "${folders[@]}"; do [ ! -d "$folder/$library/src" ] || break; done
    if [ ! -d "$folder/$library/src" ]; then bats_load_library $library && continue; fi
    # shellcheck source=/dev/null
    for file in "$folder/$library/src"/*.bash; do . "$file"; done
  done
}

set_up() {
  if has_part cli || has_part lua; then load_assertions; fi
  ! has_part cli || make_marker
  ! has_part supervise || new_files
  ! has_part empty || r flushall >/dev/null
  ! has_part line || new_line
}

clean_up() {
  [ -z "${HOLDER:-}" ] || end_ours "$HOLDER"
  ! has_part line || end_line
  ! has_part supervise || end_started
  ! has_part faults || end_cgroups
  ! has_part contain || remove_made
  ! has_part cli || end_helpers
}

# Removes the settings of the user who runs the tests. XDG_CONFIG_HOME is a folder below a device,
# which certainly does not exist, for every user.
clean_environment() {
  local name
  for name in $(compgen -e | grep -E '^(DLOCK_|REDIS)' | grep -vx DLOCK); do unset "$name"; done
  unset CI_JOB_URL BUILDKITE_BUILD_URL CIRCLE_BUILD_URL BUILD_URL GITHUB_RUN_ID
  export HOME=$BATS_FILE_TMPDIR XDG_CONFIG_HOME=/dev/null/nowhere
}

# installed NAME PROGRAM PACKAGE: fails if this machine does not have the program, and says which package
# has it. A PROGRAM that begins with "/" is a file. tests/run.bash looks for this sentence.
installed() {
  case $2 in
    /*) [ ! -e "$2" ] || return 0 ;;
    *) ! command -v "$2" >/dev/null || return 0 ;;
  esac
  echo "no $1 installed (package $3)" >&2
  return 1
}

# start_redis [OPTION…]: starts an empty server; sets REDIS_SOCKET, REDIS_PID and DLOCK_URL.
start_redis() {
  clean_environment
  installed Redis redis-server redis-server || return 1
  export REDIS_SOCKET=$BATS_FILE_TMPDIR/redis.sock
  redis-server --port 0 --unixsocket "$REDIS_SOCKET" --save '' --appendonly no \
    --dir "$BATS_FILE_TMPDIR" "$@" >"$BATS_FILE_TMPDIR/redis.log" 2>&1 3>&- &
  export REDIS_PID=$!
  export DLOCK_URL=redis+unix://$REDIS_SOCKET
  eventually 10s redis_answers
}

redis_answers() { [ "$(redis-cli -s "$REDIS_SOCKET" ping 2>&1)" != "" ] && redis-cli -s "$REDIS_SOCKET" ping >/dev/null 2>&1; }

stop_redis() {
  [ -n "${REDIS_PID:-}" ] || return 0
  end_ours "$REDIS_PID"
}

# is_ours PID: succeeds if this test file has started the process. The pid of a process that has
# ended is given to another process later, which may belong to another test.
is_ours() {
  local stat
  read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
  read -r _ stat _ <<<"${stat##*) }"
  [ "$stat" = "$BASHPID" ] || # a server's title may lie over its environment
    grep -qzxF "BATS_FILE_TMPDIR=$BATS_FILE_TMPDIR" "/proc/$1/environ" 2>/dev/null ||
    [[ $(readlink "/proc/$1/cwd") == "$BATS_RUN_TMPDIR"/* ]]
}
end_ours() { # PID…: with their children, as of timeout(1)
  local pid
  for pid; do
    is_ours "$pid" || continue
    # shellcheck disable=SC2046  # words
    kill -KILL "$pid" $(cat "/proc/$pid/task"/*/children 2>/dev/null) 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
}

# r COMMAND…: runs redis-cli on the server of this file.
r() { redis-cli -s "$REDIS_SOCKET" "$@"; }

# eventually SECONDSs COMMAND…: repeats COMMAND until it succeeds. Fails after this time, but not
# before it has tried ten times for each second: while the machine stands still nothing can happen.
eventually() {
  local end=$((SECONDS + ${1%s} + 1)) looks=$((10 * ${1%s})) nap=$BATS_RUN_TMPDIR/nap
  shift
  until "$@"; do
    looks=$((looks - 1))
    [ "$SECONDS" -lt "$end" ] || [ "$looks" -gt 0 ] || return 1
    # A pause without a process: from this pipe nothing ever comes.
    [ -p "$nap" ] || mkfifo "$nap" 2>/dev/null || [ -p "$nap" ] || return 1
    read -rt 0.02 _ <>"$nap" || true
  done
}

# Succeeds if dlock was built with a sanitizer. Such a program reserves terabytes of addresses, and
# opens, writes and limits things of its own.
sanitized() { grep -qaE '__(asan|tsan)_init' "$DLOCK"; }
# needs_no_sanitizer WHAT: skips the test if dlock has a sanitizer. WHAT says what a sanitizer does
# that the test cannot bear.
needs_no_sanitizer() { ! sanitized || skip "a sanitizer $1"; }

# alive PID: succeeds if the process exists and is no zombie. Looks once, as the process may end
# between two looks.
alive() {
  local state
  state=$(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null) && [[ $state == [^Z] ]]
}
gone() { ! alive "$1"; }

# key_exists NAME, key_gone NAME: whether the lock has its key under the default prefix.
key_exists() { [ "$(r exists "dlock:$1")" = 1 ]; }
key_gone() { [ "$(r exists "dlock:$1")" = 0 ]; }

file_has() { [ -s "$1" ] && { [ $# -lt 2 ] || grep -qF -- "$2" "$1"; }; }

# Checks that no key of a lock is left. Fencing tokens and notes of releases stay for a day by
# design.
assert_no_keys() {
  local left
  left=$(r keys '*' | grep -vE '^(redisson_lock_token|dlock:released|dlock:last):' || true)
  [ -z "$left" ] || { echo "keys left: $left"; return 1; }
}

# Every test of every suite, "file: name" as in "cli/signals: …", without the rows of faults that its
# name begins with.
all_tests() {
  # shellcheck source=tests/support/names.bash
  . "$PROJECT/tests/support/names.bash"
  every_test "$PROJECT/tests" |
    sed -E "s,^$PROJECT/tests/([^|]*)\\.(bats|cpp)\\|(([A-Z][0-9][0-9]:? )+)?,\\1: ," | sort
}
