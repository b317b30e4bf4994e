# SPDX-License-Identifier: MIT
# For the suites that share locks with real client libraries. Which one, ./dev interop says in
# INTEROP_CLIENT; a suite runs once for each client that its line "# clients:" names, and the line
# "# others:" says why not for the rest. A client is a driver in drivers/: a process that obeys
# lines on its stdin and answers each with a line "MICROSECONDS ACTOR VERB KEY RESULT":
#
#   A lock KEY LEASE         wait as long as it takes; LEASE in ms, 0 = the library's own, and
#                            renewed if the library renews                    -> acquired [TOKEN]
#   A try KEY WAIT LEASE     wait so many ms at most                          -> acquired, refused
#   A default KEY LEASE      wait as the library does unless told otherwise   -> acquired, refused
#   A unlock KEY             (the time is that of the call)                   -> released
#   A extend KEY LEASE       the lease once more                              -> extended
#   A add KEY FILE TIMES     adds 1 to the number in FILE, each time under the lock -> done
#   A look KEY FILE TIMES    the number must stay, each time under the lock     -> done, changed
#   A turn KEY HOLD          takes, holds so many ms and releases, with the library's own delays (./dev
#                            bench quorum) -> when it asked, held, began to release, had released
#   A parked KEY B           whether B waits and would hear of a release; Redisson's clients only
#   A try, extend KEY ATMOST ATLEAST   of ShedLock, which never waits: drivers/shedlock/Driver.java
#   A force, locked, held, count, ttl, owner KEY     what Redisson knows of it
#
# A is the actor: who holds a lock, and does one thing after the other. A failure is "error KIND".
# Loaded after `suite supervise`.
# shellcheck shell=bash disable=SC2154  # a_pid and the like are set by spawn

WATCHDOG=6000 # ms: the lease that Redisson's clients take and renew when they are given none

# --- drivers -----------------------------------------------------------------------------------

# start_clients: a server on a unix socket and on a port, and the client that all tests share.
start_clients() {
  local tries port
  for tries in 1 2 3; do # somebody may take the port between the look and the bind
    port=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    start_redis --bind 127.0.0.1 --port "$port" && break
    [ "$tries" != 3 ] || return 1
  done
  start_client "127.0.0.1:$port"
}
# start_client ADDRESS: that client alone; Redisson also knows redis+sentinel:// and redis+cluster://,
# and ShedLock's is a URL of JDBC.
start_client() {
  : "${INTEROP_CLIENT:?run this by ./dev interop}" "${INTEROP_HOME:?}"
  export INTEROP_ADDRESS=$1 CLIENT=$BATS_FILE_TMPDIR/client
  start_driver "$CLIENT"
}

stop_clients() {
  end_driver "$BATS_FILE_TMPDIR/client"
  stop_redis
}

# start_driver DIR: one more process of the client, with its files in DIR.
start_driver() {
  local dir=$1 place=$INTEROP_HOME/${INTEROP_CLIENT} command
  local address=$INTEROP_ADDRESS session=${SESSION_MS:-10000}
  local java=(java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -Xmx256m)
  case $INTEROP_CLIENT in
    redisson-*)
      command=("${java[@]}" -cp "$place/classes:$place/jars/*" Driver "$address" "$WATCHDOG")
      ;;
    shedlock-*)
      place=$INTEROP_HOME/shedlock
      # Eight hours ahead of UTC: what it writes by its own clock is wrong for the rest.
      command=("${java[@]}" -Duser.timezone=Asia/Shanghai
        -cp "$place/classes:$place/jars/*" Driver "$address")
      ;;
    node-redisson | redlock5 | redlock4)
      command=(node "$INTEROP_HOME/node/driver.js" "$INTEROP_CLIENT" "$address" "$WATCHDOG")
      ;;
    curator)
      command=("${java[@]}" -cp "$place/classes:$place/jars/*" Driver "$address" "$session")
      ;;
    redis-py) command=("$place/venv/bin/python" "$place/driver.py" "$address") ;;
    kazoo) command=("$place/venv/bin/python" "$place/driver.py" "$address" "$session") ;;
    redsync | etcd-go) command=("$place/$INTEROP_CLIENT" "$address") ;;
    go-zookeeper) command=("$place/$INTEROP_CLIENT" "$address" "$session") ;;
    *) echo "no client $INTEROP_CLIENT" && return 1 ;;
  esac
  mkdir -p "$dir"
  mkfifo "$dir/words"
  "${command[@]}" <>"$dir/words" >"$dir/out" 2>"$dir/err" 3>&- &
  echo $! >"$dir/driver"
  disown $! # or bash would report that it was killed
  eventually 60s grep -q ' - ready - ' "$dir/out" || {
    echo "no driver:" && tail -n 20 "$dir/err"
    return 1
  }
}

# crash_driver DIR: as by the kernel, or a power cut. end_driver: the same, for teardown, unless it was
# crashed: its pid may be somebody else's by then.
crash_driver() { kill -KILL "$(cat "$1/driver")" && rm "$1/driver"; }
end_driver() { [ ! -s "$1/driver" ] || kill -KILL "$(cat "$1/driver")" 2>/dev/null || true; }

# another_client: for a test that crashes it; CLIENT is the new one until first_client.
another_client() {
  CLIENT=$BATS_TEST_TMPDIR/another
  start_driver "$CLIENT"
}
first_client() { CLIENT=$BATS_FILE_TMPDIR/client; }

# --- talking -----------------------------------------------------------------------------------

# tell ACTOR VERB KEY [ARG…]
tell() { echo "$*" >"$CLIENT/words"; }
# answers WORDS…: the lines that begin with these words behind the time. heard N WORDS…: so many.
answers() {
  awk -v words="$*" 'index(substr($0, index($0, " ") + 1) " ", words " ") == 1' "$CLIENT/out"
}
heard() { [ "$(answers "${@:2}" | wc -l)" -ge "$1" ]; }
said() { [ "$(answers "$@" | wc -l)" != 0 ]; }
# ask ACTOR VERB KEY [ARG…]: tells, waits for the answer, and prints its result.
ask() {
  local before
  before=$(answers "${@:1:3}" | wc -l)
  tell "$@"
  eventually 30s heard $((before + 1)) "${@:1:3}" || {
    echo "no answer to $*"
    return 1
  }
  answers "${@:1:3}" | tail -n 1 | cut -d ' ' -f 5-
}
# asked EXPECTED ACTOR VERB…: asks and compares.
asked() {
  local answer
  answer=$(ask "${@:2}")
  [ "$answer" = "$1" ] || { echo "${*:2}: '$answer', not '$1'" && return 1; }
}
# says SECONDSs ACTOR VERB KEY RESULT: an answer to `tell` that may take its time; the actor must
# not have given it before.
says() {
  eventually "$1" said "${@:2}" || {
    echo "never said: ${*:2}"
    tail -n 5 "$CLIENT/out"
    return 1
  }
}
# parked ACTOR: it waits for $K and would hear of a release. Before that it may miss it: node-redisson
# does not look again behind its subscription, and then sleeps to the end of the lease.
parked() { [ "$(ask m parked "$K" "$1")" = true ]; }
# comes_to_wait ACTOR: until it is parked, where it does not ask again and again.
comes_to_wait() {
  case $INTEROP_CLIENT in
    *redisson*) eventually 20s parked "$1" ;;
    *) sleep 0.3 ;;
  esac
}
# time_of ACTOR VERB KEY: of the newest answer, in microseconds.
time_of() { answers "$@" | tail -n 1 | cut -d ' ' -f 1; }

# --- dlock -------------------------------------------------------------------------------------

setup_file() { start_clients; }
teardown_file() { stop_clients; }
setup() { set_up; }
set_up() {
  new_files
  N=t$BATS_TEST_NUMBER K=dlock:t$BATS_TEST_NUMBER
}
teardown() {
  end_started
  end_driver "$BATS_TEST_TMPDIR/another"
}

micros() { echo $(($(date +%s%N) / 1000)); }

# dlock_holds [OPTION…]: a dlock `a` that holds $N until let_go; its command writes when it began
# and ended to $T/a.began and $T/a.ended.
dlock_holds() {
  rm -f "$T/go" "$T/a.began" "$T/a.ended"
  # shellcheck disable=SC2016  # for the child to expand
  dlock_run a "$@" "${NAME:-$N}" -- sh -c '
    trap "date +%s%6N >$0/a.ended; exit 143" TERM
    date +%s%6N >$0/a.new; mv $0/a.new $0/a.began
    until [ -e $0/go ]; do sleep 0.02; done; date +%s%6N >$0/a.ended' "$T"
  eventually 20s test -e "$T/a.began"
}
let_go() { touch "$T/go"; }

# dlock_waits [OPTION…]: a dlock `b` that waits for $N, unless there is nobody to wait for any more;
# its command only writes when it began to $T/b.began.
dlock_waits() {
  rm -f "$T/b.began"
  # shellcheck disable=SC2016
  dlock_run b "$@" "${NAME:-$N}" -- sh -c 'date +%s%6N >$0/b.began' "$T"
  eventually 20s waits_or_entered
}
waits_or_entered() { watched_by 1 || entered; }
# Whoever waits for a lock has subscribed to its channel.
watched_by() { [ "$(r pubsub numsub "$(channel)" | tail -1)" -ge "$1" ]; }
channel() {
  case $K in
    *'{'*) echo "redisson_lock__channel:$K" ;;
    *) echo "redisson_lock__channel:{$K}" ;;
  esac
}
entered() { [ -s "$T/b.began" ]; }
# dlock_is_refused [OPTION…]: dlock finds $N busy now.
dlock_is_refused() {
  local status=0
  "$DLOCK" run -n "$@" "${NAME:-$N}" -- touch "$T/was-let-in" || status=$?
  [ "$status" = 75 ] && [ ! -e "$T/was-let-in" ]
}

# When the lock of $K ends unless somebody renews it, in microseconds.
lease_end() { echo $(($(r pexpiretime "$K") * 1000)); }
# not_before A B: A is a time, B one before it; the server's clock shows milliseconds.
not_before() { [ "$1" -ge $(($2 - 1000)) ] || { echo "$1 is before $2" && return 1; }; }
inspected() { "$DLOCK" inspect --json "${NAME:-$N}" | python3 -c 'import json, sys
lock = json.load(sys.stdin)["locks"][0]
print(eval(sys.argv[1]))' "$1"; }

# --- figures -----------------------------------------------------------------------------------

# feel_pulse: notes from here on when the machine stands still, a line "FROM TO" each in
# $T/pulse.out: a message cannot be late in a time in which nothing runs.
feel_pulse() {
  spawn pulse python3 -u -c 'import time
last = time.time_ns() // 1000
for _ in range(20 * 600): # nobody ends it if the suite is interrupted
    time.sleep(0.05)
    now = time.time_ns() // 1000
    if now - last > 300_000: print(last, now)
    last = now'
}

# figure WHAT <FILE: a line "FROM TO" in microseconds for each time; keeps the median and the 95th
# percentile for the end of ./dev interop. Fails when the latter is above 2 s: who was not woken looks
# again after 3 s.
figure() {
  sleep 0.2 # for the pulse
  awk 'still { from[++n] = $1; to[n] = $2; next }
    { took = $2 - $1
      for (i = 1; i <= n; i++) {
        a = from[i] > $1 ? from[i] : $1
        b = to[i] < $2 ? to[i] : $2
        if (a < b) took -= b - a
      }
      printf "%d\n", took }' still=1 "$T/pulse.out" still= - | sort -n | awk -v client="$INTEROP_CLIENT" -v what="$1" '{ t[NR] = $1 }
    END { if (!NR) exit 1
          high = t[int(NR * 0.95 + 0.999)]
          printf "%-16s %-46s p50 %6.1f ms  p95 %6.1f ms  (%d times)\n", client, what,
                 t[int((NR + 1) / 2)] / 1000, high / 1000, NR
          exit high > 2000000 }' >>"${INTEROP_FIGURES:-/dev/stdout}"
}
