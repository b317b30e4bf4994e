# SPDX-License-Identifier: MIT
# For the suites that watch processes: start dlock as a user's shell would, see how it ended, and
# read what the ticking child wrote. A part of suite.bash.
# shellcheck shell=bash disable=SC2013  # pids are words

# Compiles ticker.cpp, once for each test file; sets TICKER.
build_ticker() {
  export TICKER=$BATS_FILE_TMPDIR/ticker
  "${CXX:-c++}" -O1 -o "$TICKER" "$PROGRAMS/ticker.cpp"
}

# Makes the server load the scripts, so that each later call is one EVALSHA. Nothing here depends on
# time: if this failed, every test of the file would fail.
prime_scripts() {
  local name=prime-$RANDOM owner
  owner=$("$DLOCK" acquire "$name" | sed -n 's/^export DLOCK_OWNER=//p')
  "$DLOCK" renew --owner "$owner" "$name"
  "$DLOCK" release --owner "$owner" "$name"
  "$DLOCK" inspect "$name" >/dev/null
}

# Sets T, the folder for the files of this test, and TICKS in it.
new_files() {
  T=$BATS_TEST_TMPDIR
  export TICKS=$T/ticks
  STARTED=()
}

# spawn NAME COMMAND…: starts COMMAND in the background, with default signal dispositions. Its pid
# goes to $NAME_pid; how it ended goes to the file $T/NAME.end. SPAWN_OPTIONS are options of
# spawn.py.
spawn() {
  local name=$1
  shift
  rm -f "$T/$name.pid" "$T/$name.end"
  # shellcheck disable=SC2086  # the options are words on purpose
  python3 -S "$PROGRAMS/spawn.py" --pid "$T/$name.pid" --report "$T/$name.end" ${SPAWN_OPTIONS:-} \
    -- "$@" >"$T/$name.out" 2>"$T/$name.err" 3>&- &
  STARTED+=($!)
  eventually 10s file_has "$T/$name.pid"
  printf -v "${name}_pid" %s "$(cat "$T/$name.pid")"
}

# dlock_run NAME ARG…: spawns `dlock run ARG…`.
dlock_run() {
  local name=$1
  shift
  spawn "$name" "$DLOCK" run "$@"
}

ended() { [ -s "$T/$1.end" ]; }

# ends SECONDSs NAME EXPECTED: waits for the end of what `spawn NAME` started, and compares how it
# ended, e.g. `ends 5s a "signal 15"`.
ends() {
  eventually "$1" ended "$2" || { echo "$2 has not ended after $1"; cat "$T/$2.err"; return 1; }
  [ "$(cat "$T/$2.end")" = "$3" ] || {
    echo "$2 ended with '$(cat "$T/$2.end")', not '$3'"
    sed 's/^/  err: /' "$T/$2.err"
    return 1
  }
}

# For teardown: ends what the test has left running: only processes that it has started, and their
# descendants.
end_started() {
  local pid file
  [ -z "${REDIS_PID:-}" ] || kill -CONT "$REDIS_PID" 2>/dev/null || true
  for file in "$T"/*.pid; do
    [ -s "$file" ] || continue
    pid=$(cat "$file")
    end_tree "$pid"
  done
  for pid in "${STARTED[@]}"; do
    end_tree "$pid"
    wait "$pid" 2>/dev/null || true
  done
  # Ends the tickers that are no descendants any more. Their pids are in their files.
  for file in "$T"/ticks*; do
    [ -s "$file" ] || continue
    for pid in $(awk '{print $2}' "$file" | sort -u); do
      [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != ticker ] || kill -KILL "$pid" 2>/dev/null || true
    done
  done
}

end_tree() {
  local child
  is_ours "$1" || return 0
  for child in $(cat "/proc/$1/task"/*/children 2>/dev/null); do end_tree "$child"; done
  kill -KILL "$1" 2>/dev/null || true
}

# two_tick [FILE]: succeeds if two processes have written ticks.
two_tick() { [ "$(awk '$3 == "tick" {print $2}' "${1:-$TICKS}" 2>/dev/null | sort -u | wc -l)" = 2 ]; }
ticking() { grep -q ' tick$' "${1:-$TICKS}" 2>/dev/null; }
# Prints the BOOTTIME stamp of the first or the last line, in ms.
first_tick() { awk 'NR == 1 {printf "%d", $1 / 1000000}' "${1:-$TICKS}"; }
last_tick() { awk 'END {printf "%d", $1 / 1000000}' "${1:-$TICKS}"; }
# late_by MS [FILE]: prints by how many ms the last tick came after the time MS of the boot clock; 0
# if it came before. If no tick came for 90 ms across MS, the machine stood still. Then ticks within
# 100 ms after that do not count: a KILL is due 100 ms before the end of a lease, and no process can
# be killed before it runs again.
late_by() {
  awk -v end="$1" '{ at = $1 / 1000000; last = at }
    at < end { before = at }
    at >= end && !first { first = at }
    END { still = before && first - before >= 90 && last - first <= 100
          printf "%d", first && !still ? last - end + 1 : 0 }' "${2:-$TICKS}"
}
boot_ms() { python3 -S -c 'import time; print(int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000))'; }

# Succeeds if no process that wrote ticks runs any more, so that nothing more is written.
ticker_gone() {
  local pid
  for pid in $(awk '{print $2}' "${1:-$TICKS}" | sort -u); do
    gone "$pid" || [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != ticker ] || return 1
  done
}

# all_gone FILE: succeeds if all processes whose pids are in FILE have ended.
all_gone() {
  local pid
  for pid in $(cat "$1"); do gone "$pid" || return 1; done
}

# start_proxy [SOCKET]: starts proxy.py in front of our server, or of the one at SOCKET. Sets
# PROXY_URL; `proxy MODE…` switches the proxy.
start_proxy() {
  export PROXY_CONTROL=$T/proxy.control PROXY_LOG=$T/proxy.log
  echo pass >"$PROXY_CONTROL"
  python3 -S "$PROGRAMS/proxy.py" "${1:-$REDIS_SOCKET}" "$PROXY_CONTROL" "$PROXY_LOG" \
    >"$T/proxy.port" 2>"$T/proxy.err" 3>&- &
  STARTED+=($!)
  eventually 10s file_has "$T/proxy.port"
  PROXY_URL=redis://127.0.0.1:$(cat "$T/proxy.port")
  export PROXY_URL
}

proxy() {
  echo "$*" >"$PROXY_CONTROL.new"
  mv "$PROXY_CONTROL.new" "$PROXY_CONTROL"
}

# start_other NAME [OPTION…]: starts a second server in a folder of its own, which a test may
# mistreat. Sets OTHER_SOCKET, OTHER_PID, OTHER_URL. Started again with the same name it finds its
# data.
start_other() {
  local dir=$T/$1
  shift
  mkdir -p "$dir"
  OTHER_SOCKET=$dir/redis.sock
  export OTHER_URL=redis+unix://$dir/redis.sock
  redis-server --port 0 --unixsocket "$OTHER_SOCKET" --save '' --dir "$dir" "$@" \
    >>"$dir/log" 2>&1 3>&- &
  OTHER_PID=$!
  STARTED+=("$OTHER_PID")
  eventually 10s other_answers
}
o() { redis-cli -s "$OTHER_SOCKET" "$@"; }
other_answers() { [ "$(o ping 2>/dev/null)" = PONG ]; }

# hold_count NAME: prints how many holds of a name the server knows of (0 when it is free).
hold_count() { r hvals "dlock:$1" | awk '{n += $1} END {print n + 0}'; }
hold_records() { r hlen "dlock:holds:{dlock:$1}"; }
lock_ttl() { r pttl "dlock:$1"; }

# evalshas: prints how many scripts the server has run by their hashes. settle: waits until no
# script has run for a second, at most six seconds. Then all waiters and holders sleep, except for
# their heartbeats and renewals.
evalshas() { r info commandstats | tr -d '\r' | sed -nE 's/^cmdstat_evalsha:calls=([0-9]+),.*/\1/p'; }
settle() {
  local before tries
  for ((tries = 0; tries < 6; tries++)); do
    before=$(evalshas)
    sleep 1
    [ "$(evalshas)" != "$before" ] || break
  done
}

# assert_free NAME: checks that there is no lock, no record of a hold and no revocation; only the
# token may stay.
assert_free() {
  [ "$(r exists "dlock:$1" "dlock:holds:{dlock:$1}" "dlock:revoked:{dlock:$1}")" = 0 ] || {
    echo "left: $(r hgetall "dlock:$1") / $(r hgetall "dlock:holds:{dlock:$1}")"
    return 1
  }
}
is_free() { assert_free "$1" >/dev/null; }
