# SPDX-License-Identifier: MIT
# For the suites that watch processes: start dlock as a user's shell would, see how it ended, and
# read what the ticking child wrote. A part of suite.bash.
# shellcheck shell=bash disable=SC2013  # pids are words

# Compiled once a file: sets TICKER.
build_ticker() {
  export TICKER=$BATS_FILE_TMPDIR/ticker
  "${CXX:-c++}" -O1 -o "$TICKER" "$PROGRAMS/ticker.cpp"
}

# The scripts are known to the server afterwards: each call then is one EVALSHA. Nothing here depends
# on time: if it failed, every test of the file would.
prime_scripts() {
  local name=prime-$RANDOM owner
  owner=$("$DLOCK" acquire "$name" | sed -n 's/^export DLOCK_OWNER=//p')
  "$DLOCK" renew --owner "$owner" "$name"
  "$DLOCK" release --owner "$owner" "$name"
  "$DLOCK" inspect "$name" >/dev/null
}

# Files of a test: a fresh folder each.
new_files() {
  T=$BATS_TEST_TMPDIR
  export TICKS=$T/ticks
  STARTED=()
}

# spawn NAME COMMAND…: in the background with default dispositions. Its pid goes to $NAME_pid, its
# end to the file $T/NAME.end. SPAWN_OPTIONS are spawn.py's.
spawn() {
  local name=$1
  shift
  rm -f "$T/$name.pid" "$T/$name.end"
  # shellcheck disable=SC2086  # the options are words on purpose
  python3 "$PROGRAMS/spawn.py" --pid "$T/$name.pid" --report "$T/$name.end" ${SPAWN_OPTIONS:-} \
    -- "$@" >"$T/$name.out" 2>"$T/$name.err" 3>&- &
  STARTED+=($!)
  eventually 10s file_has "$T/$name.pid"
  printf -v "${name}_pid" %s "$(cat "$T/$name.pid")"
}

# dlock_run NAME ARG…: the same for `dlock run`.
dlock_run() {
  local name=$1
  shift
  spawn "$name" "$DLOCK" run "$@"
}

ended() { [ -s "$T/$1.end" ]; }

# ends SECONDSs NAME EXPECTED: waits for its end and compares, e.g. `ends 5s a "signal 15"`.
ends() {
  eventually "$1" ended "$2" || { echo "$2 has not ended after $1"; cat "$T/$2.err"; return 1; }
  [ "$(cat "$T/$2.end")" = "$3" ] || {
    echo "$2 ended with '$(cat "$T/$2.end")', not '$3'"
    sed 's/^/  err: /' "$T/$2.err"
    return 1
  }
}

# For teardown: whatever the test has left. Only what it started, and what runs below that.
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
  # Tickers that outlived everybody: their pids are in their files.
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

# two_tick [FILE]: so many processes have written ticks.
two_tick() { [ "$(awk '$3 == "tick" {print $2}' "${1:-$TICKS}" 2>/dev/null | sort -u | wc -l)" = 2 ]; }
ticking() { grep -q ' tick$' "${1:-$TICKS}" 2>/dev/null; }
# The BOOTTIME stamps of the first and last line, in ms.
first_tick() { awk 'NR == 1 {printf "%d", $1 / 1000000}' "${1:-$TICKS}"; }
last_tick() { awk 'END {printf "%d", $1 / 1000000}' "${1:-$TICKS}"; }
# late_by MS [FILE]: by how much the last tick was after that time of the boot clock, in ms, or 0. If
# nothing ran across it for 90 ms, as on a machine that stands still, the 100 ms behind that do not
# count: a KILL comes 100 ms before the end, and nobody can be killed before he runs again.
late_by() {
  awk -v end="$1" '{ at = $1 / 1000000; last = at }
    at < end { before = at }
    at >= end && !first { first = at }
    END { still = before && first - before >= 90 && last - first <= 100
          printf "%d", first && !still ? last - end + 1 : 0 }' "${2:-$TICKS}"
}
boot_ms() { python3 -c 'import time; print(int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000))'; }

# No process that wrote ticks runs any more, and nothing more is written.
ticker_gone() {
  local pid
  for pid in $(awk '{print $2}' "${1:-$TICKS}" | sort -u); do
    gone "$pid" || [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != ticker ] || return 1
  done
}

# All processes of a file of pids are gone.
all_gone() {
  local pid
  for pid in $(cat "$1"); do gone "$pid" || return 1; done
}

# start_proxy [SOCKET]: in front of our server, or of the one at SOCKET. Sets PROXY_URL; `proxy
# MODE…` switches it.
start_proxy() {
  export PROXY_CONTROL=$T/proxy.control PROXY_LOG=$T/proxy.log
  echo pass >"$PROXY_CONTROL"
  python3 "$PROGRAMS/proxy.py" "${1:-$REDIS_SOCKET}" "$PROXY_CONTROL" "$PROXY_LOG" \
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

# start_other NAME [OPTION…]: a second server in a folder of its own, which a test may mistreat.
# Sets OTHER_SOCKET, OTHER_PID, OTHER_URL. Started again with the same name it finds its data.
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

# How many holds of a name the server knows of (0 when it is free).
hold_count() { r hvals "dlock:$1" | awk '{n += $1} END {print n + 0}'; }
hold_records() { r hlen "dlock:holds:{dlock:$1}"; }
lock_ttl() { r pttl "dlock:$1"; }

# How many scripts the server has run by their names. settle: waits for a second without any: whoever
# waits or holds sleeps then, and only shows now and then that he lives; but not for ever.
evalshas() { r info commandstats | tr -d '\r' | sed -nE 's/^cmdstat_evalsha:calls=([0-9]+),.*/\1/p'; }
settle() {
  local before tries
  for ((tries = 0; tries < 6; tries++)); do
    before=$(evalshas)
    sleep 1
    [ "$(evalshas)" != "$before" ] || break
  done
}

# Nobody's lock, no record of one: only the token stays.
assert_free() {
  [ "$(r exists "dlock:$1" "dlock:holds:{dlock:$1}" "dlock:revoked:{dlock:$1}")" = 0 ] || {
    echo "left: $(r hgetall "dlock:$1") / $(r hgetall "dlock:holds:{dlock:$1}")"
    return 1
  }
}
is_free() { assert_free "$1" >/dev/null; }
