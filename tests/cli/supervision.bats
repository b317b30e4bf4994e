#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The command runs as if dlock were not there, dlock is as quiet at the server as it promises, and
# whatever cannot be started gives its lock back at once.
# shellcheck disable=SC2154,SC2016  # *_pid are set by spawn; '…' is for inner shells

load ../support/suite
suite server ticker supervise

# same_as_direct WRAPPER… -- COMMAND…: COMMAND prints the same with and without dlock.
same_as_direct() {
  local -a wrapper=()
  while [ "$1" != -- ]; do
    wrapper+=("$1")
    shift
  done
  shift
  "${wrapper[@]}" "$@" >"$T/direct" 3>&-
  "${wrapper[@]}" "$DLOCK" run same -- "$@" >"$T/under" 3>&-
  [ -s "$T/direct" ]
  diff "$T/direct" "$T/under"
}

listen() {
  redis-cli -s "$REDIS_SOCKET" monitor >"$T/monitor" 3>&- &
  STARTED+=($!)
  eventually 5s file_has "$T/monitor" OK
}
# The commands of clients (not those of scripts) since listen, without ours.
heard() { grep -vE 'lua\]|"(ping|PING|monitor)"' "$T/monitor" | grep -v '^OK'; }
heard_marker() {
  r echo marker >/dev/null
  eventually 5s grep -q '"marker"' "$T/monitor"
}

@test "P13: a command that is not there: 127, and the lock is free at once" {
  local word
  for word in /nonexistent/command no-such-command-anywhere ''; do
    run -127 "$DLOCK" run --ttl 60s missing -- "$word"
    [[ $output == dlock:* ]]
    assert_free missing
  done
}

@test "P14: a command that cannot be executed: 126, and the lock is free at once" {
  echo text >"$T/no-x"
  printf '#!/nonexistent/interpreter\n' >"$T/no-interpreter"
  ln -s loop "$T/loop"
  cp "$TICKER" "$T/busy"
  exec 8>>"$T/busy"
  chmod +x "$T/no-interpreter"
  local word
  for word in "$T/no-x" "$T" "$T/busy" "$T/loop" "$T/no-x/below"; do
    run -126 "$DLOCK" run --ttl 60s cannot -- "$word"
    [[ $output == dlock:* ]]
    assert_free cannot
  done
  exec 8>&-
  # ENOENT, though the file is there: the interpreter is what is missing.
  run -127 "$DLOCK" run --ttl 60s cannot -- "$T/no-interpreter"
  assert_free cannot
}

@test "P14: too long an argument list for the command: 126, and the lock is free at once" {
  needs_no_sanitizer "takes more of the stack than this limit leaves"
  python3 - "$DLOCK" <<'P'
import resource, subprocess, sys
def small():  # the least that Linux has: 128 KiB for words and environment
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 19, resource.RLIM_INFINITY))
def run(size):
    words = ["x" * 1000] * (size // 1000) + ["x" * (size % 1000)]
    return subprocess.run([sys.argv[1], "run", "--ttl", "60s", "long", "--", "true"] + words,
                          preexec_fn=small, stderr=subprocess.DEVNULL).returncode
# The longest list that dlock itself can be started with is too long with DLOCK_… added.
fits, too_long = 0, 200000
while too_long - fits > 8:
    middle = (fits + too_long) // 2
    try:
        last = run(middle)
        fits = middle
    except OSError:
        too_long = middle
assert run(1000) == 0
assert run(fits) == 126, run(fits)
P
  assert_free long
}

@test "P11: no process to be had: 125, the lock is free at once" {
  [ "$(id -u)" = 0 ] || skip "needs root to become somebody else"
  id nobody >/dev/null || skip "no user nobody"
  start_proxy
  local code=0
  python3 - "$DLOCK" "$PROXY_URL" <<'P' || code=$?
import os, pwd, resource, subprocess, sys
dlock, url = sys.argv[1:]
nobody = pwd.getpwnam("nobody")
def become():
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)
    if not os.access(dlock, os.X_OK):
        os._exit(77)
def one_process():  # dlock and its store thread, no more
    become()
    resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))
env = {"DLOCK_URL": url, "PATH": os.environ["PATH"], "HOME": "/"}
able = subprocess.run([dlock, "run", "nproc", "--", "true"], env=env, preexec_fn=become)
if able.returncode == 77 or able.returncode == 69:
    sys.exit(77)
done = subprocess.run([dlock, "run", "--ttl", "60s", "nproc", "--", "true"], env=env,
                      preexec_fn=one_process, stderr=subprocess.PIPE)
assert done.returncode == 125, done
assert done.stderr.startswith(b"dlock: "), done
P
  [ "$code" != 77 ] || skip "nobody cannot run dlock here"
  [ "$code" = 0 ]
  assert_free nproc
}

@test "P15: the command has exactly the caller's descriptors" {
  exec 7<"$BATS_TEST_FILENAME" 8>"$T/eight"
  same_as_direct -- sh -c 'ls /proc/self/fd; readlink /proc/self/fd/7 /proc/self/fd/8'
  exec 7<&- 8>&-
}

@test "P15: closed descriptors stay closed, and no connection becomes stdin, stdout or stderr" {
  local how
  cat >"$T/show.py" <<'P'
import os, sys
def where(n):
    try:
        return os.readlink(f"/proc/self/fd/{n}")
    except OSError:
        return "closed"
shown = [where(n) for n in range(10)]
with open(sys.argv[1], "a") as file:
    file.write("\n".join(shown) + "\n")
P
  for how in '0<&-' '1>&-' '2>&-' '0<&- 1>&-' '0<&- 1>&- 2>&-'; do
    bash -c "exec 3>&- $how; exec python3 -IS $T/show.py $T/plain"
    bash -c "exec 3>&- $how; exec $DLOCK run closed -- python3 -IS $T/show.py $T/under"
  done
  diff "$T/plain" "$T/under"
}

@test "P34: umask, folder, niceness, limits, session and environment are the caller's" {
  cd "$T"
  umask 027
  same_as_direct -- sh -c 'umask; pwd; ulimit -a; nice; cat /proc/self/oom_score_adj /proc/self/timerslack_ns; cut -d" " -f6,7 /proc/self/stat | tr " " "\n" | head -1'
  same_as_direct nice -n 7 -- nice
  same_as_direct prlimit --nofile=77 --core=0 --fsize=1000000 -- prlimit --noheadings
  same_as_direct env -i PATH="$PATH" DLOCK_URL="$DLOCK_URL" EMPTY= $'ODD=a\nb' -- sh -c 'env | grep -vE "^(DLOCK_(HELD|NAME|TOKEN|OWNER|TTL_MS|MODE|HOLDS)|_|PWD)=" | sort'
}

@test "P34: a working directory that was deleted does not disturb" {
  mkdir "$T/gone"
  cd "$T/gone"
  rmdir "$T/gone"
  run -5 "$DLOCK" run no-folder -- sh -c 'exit 5'
}

@test "the words of the command arrive byte for byte" {
  python3 - "$DLOCK" <<'P'
import os, subprocess, sys
words = [b"-la", b"--a=b", b"--", b"-n", b"", b" ", b"a b", b"[x]", b"{}", b"'", b'"', b"\\",
         b"*", b"$HOME", b"\n", b"\xff\xfe", b"\x1b[31m", "ä€".encode(), b"[1,2]", b"--ttl", b"1s", b"-h", b"--help"]
out = subprocess.run([sys.argv[1].encode(), b"run", b"words", b"--", b"printf", b"%s\\0"] + words,
                     stdout=subprocess.PIPE, check=True).stdout
assert out == b"".join(w + b"\0" for w in words), out
P
}

@test "stdin and a binary stdout of 100 MB pass untouched" {
  run -0 bash -c 'head -c 100000000 /dev/urandom | tee >(sha256sum >"$1/in") | "$DLOCK" run bytes -- cat | sha256sum >"$1/out"; wait' - "$T"
  eventually 10s file_has "$T/in"
  diff "$T/in" "$T/out"
}

@test "a reader that goes away: the command meets its SIGPIPE, dlock ends like it" {
  run bash -c '"$DLOCK" run pipe -- yes | head -1; echo "${PIPESTATUS[0]}"'
  [ "${lines[0]}" = y ]
  [ "${lines[1]}" = 141 ]
  assert_free pipe
}

@test "P16: an unread stderr does not keep the lock from being renewed" {
  mkfifo "$T/stuck"
  exec 8<>"$T/stuck"
  head -c 1000000 /dev/zero | timeout 1 cat >&8 || true
  python3 -S "$PROGRAMS/spawn.py" --report "$T/a.end" --pid "$T/a.pid" -- "$DLOCK" -v run \
    --ttl 3s -k 200ms stuck -- sh -c 'sleep 5; exit 5' 2>&8 3>&- &
  STARTED+=($!)
  eventually 5s key_exists stuck
  local end=$((SECONDS + 4))
  while [ "$SECONDS" -lt "$end" ]; do
    [ "$(hold_count stuck)" = 1 ]
    sleep 0.1
  done
  eventually 8s ended a
  [ "$(cat "$T/a.end")" = "exit 5" ]
  exec 8<&-
}

@test "J08: no terminal, no stdin, no HOME: works and prints nothing" {
  SPAWN_OPTIONS="--setsid --no-stdin" spawn a env -i DLOCK_URL="$DLOCK_URL" PATH="$PATH" "$DLOCK" run bare -- sh -c 'exit 4'
  ends 5s a "exit 4"
  [ ! -s "$T/a.err" ]
  [ ! -s "$T/a.out" ]
}

# costs COMMANDS SCRIPTS MORE COMMAND…: COMMAND sends the server so many commands, so many of them
# scripts. Each holder that has lasted for a second, as it may where a machine stands still, has a look
# of four, and the command has MORE holders.
costs() {
  local commands=$1 scripts=$2 more=0 holders=$3 began
  shift 3
  listen
  began=${EPOCHREALTIME/./}
  "$@"
  [ $((${EPOCHREALTIME/./} - began)) -lt 1000000 ] || more=$holders
  heard_marker
  heard | tee "$T/heard"
  between "$commands" "$(grep -vc '"marker"' "$T/heard")" $((commands + 4 * more))
  between "$scripts" "$(grep -ci '"evalsha"' "$T/heard")" $((scripts + more))
}
between() { [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; }

@test "an uncontended run is two scripts and nothing else" {
  costs 2 2 1 "$DLOCK" run quiet -- true
}

@test "a holder is one command every third of its lease, and after a second a look of four" {
  local began took again
  listen
  began=${EPOCHREALTIME/./}
  "$DLOCK" -v --log-format json run --ttl 3s -k 200ms renewing -- sleep 4.5 2>"$T/err"
  took=$(((${EPOCHREALTIME/./} - began) / 1000000))
  heard_marker
  heard | tee "$T/heard"
  # acquire, renewals at 1, 2, 3, 4 s, release, and a check when the subscription is up. An end in the middle
  # of a renewal would cost a connection, with the tracking once more; and so does each call that was
  # not answered in its time.
  again=$(grep -c '"event":"unknown"' "$T/err" || true)
  between 6 "$(grep -ci '"evalsha"' "$T/heard")" $((3 + took + 3 * again))
  between 3 "$(grep -vci '"evalsha"\|"marker"' "$T/heard")" $((3 + 6 * again))
  between 1 "$(grep -ci '"client" "tracking"' "$T/heard")" $((1 + again))
}

@test "a nested run costs two scripts more" {
  costs 4 4 2 "$DLOCK" run nest -- "$DLOCK" run nest -- true
}

@test "a server that has forgotten its scripts gets their text, and the run succeeds" {
  r script flush
  run -6 --separate-stderr "$DLOCK" run --ttl 3s -k 200ms flushed-scripts -- sh -c 'sleep 0.5; redis-cli -s $REDIS_SOCKET script flush >/dev/null; sleep 3; exit 6'
  [ -z "$stderr" ]
  assert_free flushed-scripts
  prime_scripts
}

@test "one waiter that sleeps sends next to nothing" {
  r hset dlock:sleepy 11111111-2222-3333-4444-555555555555:1 1
  dlock_run a -q sleepy -- true
  eventually 5s waits sleepy
  settle
  listen
  sleep 3
  run heard
  [ "$(grep -c . <<<"$output")" -le 2 ] || { echo "$output"; false; }
  r del dlock:sleepy
  r publish 'redisson_lock__channel:{dlock:sleepy}' 0
  ends 8s a "exit 0"
}
waits() { [ "$(r pubsub numsub "redisson_lock__channel:{dlock:$1}" | tail -1)" = 1 ]; }

@test "the lock is renewed while the command uses all processors" {
  dlock_run a --ttl 3s -k 200ms busy -- sh -c 'for i in 1 2 3 4; do (timeout 4.5 sh -c "while :; do :; done") & done; wait; exit 3'
  ends 15s a "exit 3"
  [ ! -s "$T/a.err" ]
  assert_free busy
}

@test "a command that made itself the leader of another group is still waited for" {
  dlock_run a moved -- python3 -c '
import os, subprocess, sys
subprocess.Popen(["sh", "-c", "sleep 0.3; echo done"], start_new_session=True).wait()
sys.exit(9)'
  ends 8s a "exit 9"
  [ "$(cat "$T/a.out")" = "done" ]
}

@test "codes of the command come through, all of them" {
  local code
  for code in 0 1 2 7 64 69 75 77 78 79 124 125 126 127 128 137 143 200 255; do
    run -"$code" "$DLOCK" run codes -- sh -c "exit $code"
  done
}

@test "with the /proc of another pid namespace, a command that leaves nothing causes no warning" {
  unshare -pf true 2>/dev/null || skip "no right to make a pid namespace"
  run -3 --separate-stderr unshare -pf sh -c '"$1" run --ttl 5s quiet-proc -- sh -c "exit 3"; exit $?' \
    sh "$DLOCK"
  [ -z "$stderr" ]
  assert_free quiet-proc
}

@test "with the /proc of another pid namespace, what a command left is stopped before the release" {
  unshare -pf true 2>/dev/null || skip "no right to make a pid namespace"
  # The shell is pid 1 there, and outlives dlock.
  run -0 --separate-stderr unshare -pf sh -c '"$1" run --ttl 5s other-proc -- sh -c "trap \"\" TERM
      $2 $3 ignore 15 & until [ -s $3 ]; do sleep 0.02; done"
    wc -l <"$3"; sleep 0.3; wc -l <"$3"' sh "$DLOCK" "$TICKER" "$TICKS"
  [ "${#lines[@]}" = 2 ] && [ "${lines[0]}" = "${lines[1]}" ]
  assert_free other-proc
}
