#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: under dlock a command ends, reads, writes and sees the world as it would without it.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016
load ../support/suite
suite server cli

# wait_status COMMAND…: "exit N", or "signal N" and " core" if it dumped one.
wait_status() {
  python3 -c 'import os, sys, resource, signal
pid = os.fork()
if pid == 0:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))
    os.execvp(sys.argv[1], sys.argv[1:])
status = os.waitpid(pid, 0)[1]
print(f"exit {os.WEXITSTATUS(status)}" if os.WIFEXITED(status) else
      f"signal {os.WTERMSIG(status)}" + (" core" if os.WCOREDUMP(status) else ""))' "$@"
}

@test "the status of the command is the status of dlock" {
  for code in 0 1 7 75 124 125 126 127 137 143 255; do
    run -"$code" --separate-stderr "$DLOCK" run "$(fresh)" -- sh -c "exit $code"
    assert_no_stderr
    assert_output ""
  done
  assert_no_keys
}

@test "P35: a command killed by a signal kills dlock by the same signal, without a core" {
  cd "$BATS_TEST_TMPDIR"
  for number in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 24 25 26 27 29 30 31 34 50 64; do
    run -0 wait_status "$DLOCK" run "$(fresh)" -- \
      python3 -c "import os, resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
import signal
if $number not in (9, 19): signal.signal($number, signal.SIG_DFL)
os.kill(os.getpid(), $number)"
    assert_output "signal $number"
  done
  [ -z "$(ls)" ] || fail "left here: $(ls)"
  assert_no_keys
}

@test "what cannot be executed ends with 126 and frees the lock at once" {
  cd "$BATS_TEST_TMPDIR"
  echo '#!/bin/sh' >plain
  ln -s loop loop
  for command in ./plain /tmp ./loop ./plain/below; do
    run -126 --separate-stderr "$DLOCK" run --ttl 60s "$(fresh)" -- "$command"
    assert_one_line
    assert_stderr_has "${command#./}"
    key_gone "$(fresh)"
  done
  assert_no_keys
}

@test "P14: a program that is being written to ends with 126" {
  cp /bin/true "$BATS_TEST_TMPDIR/busy"
  exec 9>>"$BATS_TEST_TMPDIR/busy"
  run -126 --separate-stderr "$DLOCK" run "$(fresh)" -- "$BATS_TEST_TMPDIR/busy"
  exec 9>&-
  assert_one_line
  assert_no_keys
}

@test "P13: what is not found ends with 127 and frees the lock at once" {
  for command in no-such-command-here /nonexistent/command ''; do
    run -127 --separate-stderr "$DLOCK" run --ttl 60s "$(fresh)" -- "$command"
    assert_one_line
    key_gone "$(fresh)"
  done
  assert_no_keys
}

@test "a script whose interpreter is missing ends with 127, as in sh" {
  printf '#!/nonexistent/interpreter\n' >"$BATS_TEST_TMPDIR/script"
  chmod +x "$BATS_TEST_TMPDIR/script"
  run -127 --separate-stderr "$DLOCK" run "$(fresh)" -- "$BATS_TEST_TMPDIR/script"
  assert_one_line
  assert_no_keys
}

waits_for() { [ "$(r pubsub numsub "redisson_lock__channel:{dlock:$1}" | tail -1)" -gt 0 ]; }

@test "words too long for exec end with 126 and free the lock at once" {
  # exec(2) allows words a quarter of the stack limit: lowered while dlock, with its words, waits.
  hold "$(fresh)"
  local long
  printf -v long '%0100000d' 1
  "$DLOCK" run --ttl 60s "$(fresh)" -- /bin/true "$long" "$long" "$long" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
  local pid=$!
  eventually 10s waits_for "$(fresh)"
  prlimit --pid "$pid" --stack=400000
  let_go
  local rc=0
  wait "$pid" || rc=$?
  [ "$rc" = 126 ]
  run -0 cat "$BATS_TEST_TMPDIR/err"
  assert_output --partial 'too long'
  assert_no_keys
}

@test "P14: a script without #! runs, as it does in a shell" {
  printf 'exit 9\n' >"$BATS_TEST_TMPDIR/script"
  chmod +x "$BATS_TEST_TMPDIR/script"
  run -9 "$DLOCK" run "$(fresh)" -- "$BATS_TEST_TMPDIR/script"
  PATH=$BATS_TEST_TMPDIR:$PATH run -9 "$DLOCK" run "$(fresh)" -- script
}

@test "a busy lock ends with 75, at once with -n and with -w 0" {
  hold "$(fresh)" --reason 'nightly import'
  for option in -n --nonblock --nb '-w 0' --wait=0 '--timeout 0'; do
    # shellcheck disable=SC2086  # an option and its value
    run -75 --separate-stderr timeout 10 "$DLOCK" run $option "$(fresh)" -- touch "$MARKER"
    assert_one_line
    assert_stderr_has "$(fresh)"
    assert_stderr_has "@$(hostname)"
    assert_stderr_has "pid $HOLDER"
    assert_stderr_has 'nightly import'
  done
  assert_not_started
  let_go
}

@test "-E changes the status of a busy lock, and of nothing else" {
  hold "$(fresh)"
  run -9 "$DLOCK" run -n -E 9 "$(fresh)" -- touch "$MARKER"
  run -0 "$DLOCK" run -nE0 "$(fresh)" -- touch "$MARKER"
  run -1 "$DLOCK" run -w 0.1 --conflict-exit-code=1 "$(fresh)" -- touch "$MARKER"
  assert_not_started
  let_go
  run -75 "$DLOCK" run -nE 9 "$(fresh)" -- sh -c 'exit 75'
}

@test "-w 1 gives up after about a second" {
  hold "$(fresh)"
  local before=${EPOCHREALTIME/./}
  run -75 "$DLOCK" run -w 1 "$(fresh)" -- touch "$MARKER"
  local took=$((${EPOCHREALTIME/./} - before))
  [ "$took" -ge 900000 ] && [ "$took" -lt 4000000 ] || fail "took $took us"
  assert_not_started
  let_go
}

@test "a command line that makes no sense ends with 64, settings that make none with 78" {
  run -64 --separate-stderr "$DLOCK" run --no-such-option x -- touch "$MARKER"
  assert_one_line
  DLOCK_TTL=soon run -78 --separate-stderr "$DLOCK" run x -- touch "$MARKER"
  assert_one_line
  assert_stderr_has DLOCK_TTL
  assert_not_started
}

@test "a store that is down ends with 69 within --connect-timeout, and says where to go" {
  local port before took
  port=$(free_port)
  before=${EPOCHREALTIME/./}
  DLOCK_URL=redis://127.0.0.1:$port run -69 --separate-stderr \
    "$DLOCK" --connect-timeout 500ms run x -- touch "$MARKER"
  took=$((${EPOCHREALTIME/./} - before))
  [ "$took" -lt 2500000 ] || fail "took $took us"
  assert_one_line
  assert_stderr_has "127.0.0.1:$port"
  assert_not_started
}

@test "the words of the command are untouched" {
  local -a given=(-la --a=b -- -n '' '[.a,.b]' '{x}' '[]' ' ' $'two\nlines' $'\t' --ttl=1s '*' '$HOME' '--' "'" '"' $'\\' $'\xff\xfe')
  run -0 "$DLOCK" run "$(fresh)" -- sh -c 'printf "%s\0" "$@" | od -An -v -tx1 | tr -d " \n"' sh "${given[@]}"
  assert_output "$(words "${given[@]}")"
  # Without a "--" before the command too.
  given=(-la --a=b -- -n '' '[.a,.b]' '[[a,b],[c]]' $'two\nlines' --help --version)
  run -0 "$DLOCK" run "$(fresh)" sh -c 'printf "%s\0" "$@" | od -An -v -tx1 | tr -d " \n"' sh "${given[@]}"
  assert_output "$(words "${given[@]}")"
}

@test "a command whose name looks like an option runs behind --" {
  mkdir "$BATS_TEST_TMPDIR/bin"
  printf '#!/bin/sh\necho ran "$@"\n' >"$BATS_TEST_TMPDIR/bin/-n"
  chmod +x "$BATS_TEST_TMPDIR/bin/-n"
  PATH=$BATS_TEST_TMPDIR/bin:$PATH run -0 "$DLOCK" run "$(fresh)" -- -n -x
  assert_output "ran -x"
}

@test "P34: the environment of the command is the caller's but for what dlock adds" {
  env -0 | tr '\n' ' ' | tr '\0' '\n' | grep -v '^_=' | sort >"$BATS_TEST_TMPDIR/direct"
  "$DLOCK" run "$(fresh)" -- env -0 | tr '\n' ' ' | tr '\0' '\n' | grep -v '^_=' | sort \
    >"$BATS_TEST_TMPDIR/under"
  run comm -3 "$BATS_TEST_TMPDIR/direct" "$BATS_TEST_TMPDIR/under"
  run grep -vE '^\s*DLOCK_(HELD|NAME|TOKEN|OWNER|TTL_MS|MODE|HOLDS)=' <<<"$output"
  assert_output ""
}

@test "DLOCK_… tell the command what it holds, whatever was inherited" {
  local token
  token=$(DLOCK_HELD=0 DLOCK_NAME=wrong DLOCK_TOKEN=7 DLOCK_OWNER=me DLOCK_TTL_MS=1 DLOCK_HOLDS=rubbish \
    DLOCK_MODE=slots DLOCK_SLOT=7 DLOCK_EXPIRES=1 \
    "$DLOCK" run --ttl 20s "$(fresh)" -- sh -c 'env | grep ^DLOCK_ | sort >"$0"
      redis-cli -s "$REDIS_SOCKET" hkeys "dlock:$DLOCK_NAME" >"$0.owner"
      echo "$DLOCK_TOKEN"' "$BATS_TEST_TMPDIR/env")
  [ "$(grep -c '^DLOCK_HELD=' "$BATS_TEST_TMPDIR/env")" = 1 ]
  [ "$(grep -c '^DLOCK_HOLDS=' "$BATS_TEST_TMPDIR/env")" = 1 ]
  run -0 cat "$BATS_TEST_TMPDIR/env"
  assert_line DLOCK_HELD=1
  assert_line "DLOCK_NAME=$(fresh)"
  assert_line DLOCK_TTL_MS=20000
  assert_line DLOCK_MODE=plain
  refute_line --partial DLOCK_SLOT
  refute_line --partial DLOCK_EXPIRES
  assert_line "DLOCK_OWNER=$(cat "$BATS_TEST_TMPDIR/env.owner")"
  assert_line "DLOCK_TOKEN=$(r get "redisson_lock_token:{dlock:$(fresh)}")"
  refute_line --partial rubbish
  [ "$("$DLOCK" run "$(fresh)" -- sh -c 'echo $DLOCK_TOKEN')" -gt "$token" ]
}

@test "standard input is the command's" {
  run -0 bash -c 'printf "a\nb" | "$DLOCK" run "$1" -- cat' - "$(fresh)"
  assert_output $'a\nb'
  # dlock does not read a byte of it.
  run -0 bash -c 'printf "first\nsecond\n" | { "$DLOCK" run "$1" -- true; cat; }' - "$(fresh)"
  assert_output $'first\nsecond'
}

@test "a hundred megabytes pass through untouched" {
  head -c 100000000 /dev/zero | openssl enc -aes-128-ctr -K 00 -iv 00 2>/dev/null >"$BATS_TEST_TMPDIR/in" ||
    head -c 100000000 /dev/urandom >"$BATS_TEST_TMPDIR/in"
  local want
  want=$(cksum <"$BATS_TEST_TMPDIR/in")
  run -0 bash -c '"$DLOCK" run "$1" -- cat <"$2" | cksum' - "$(fresh)" "$BATS_TEST_TMPDIR/in"
  assert_output "$want"
}

@test "-c runs a string by the caller's shell" {
  run -0 "$DLOCK" run -c 'echo "$DLOCK_NAME" | tr a-z A-Z; exit 0' lower
  assert_output LOWER
  SHELL=/bin/bash run -0 "$DLOCK" run --command 'echo "${BASH_VERSION:+bash}"' "$(fresh)"
  assert_output bash
  printf '#!/bin/sh\nprintf "<%%s>" "$@"\n' >"$BATS_TEST_TMPDIR/shell"
  chmod +x "$BATS_TEST_TMPDIR/shell"
  SHELL=$BATS_TEST_TMPDIR/shell run -0 "$DLOCK" run -c 'a  b' "$(fresh)"
  assert_output '<-c><a  b>'
  run -0 env -u SHELL "$DLOCK" run -c 'echo $((1+1))' "$(fresh)"
  assert_output 2
  run -5 "$DLOCK" run -c 'exit 5' "$(fresh)"
}

@test "-c runs a string by /bin/sh where the login shell of the account runs nothing" {
  local shell
  for shell in /usr/sbin/nologin /bin/false; do
    SHELL=$shell run -0 "$DLOCK" run -c 'echo "$SHELL"' "$(fresh)"
    assert_output "$shell"
  done
}

# Which descriptors a command finds open, without that of the looking itself.
list_fds='import os
print(" ".join(sorted(n for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n))), file=open(os.environ["OUT"], "w"))'

same_descriptors() { # REDIRECTIONS: compares a direct run with one under dlock
  export OUT
  OUT=$BATS_TEST_TMPDIR/direct-fds bash -c "exec python3 -c '$list_fds' $1"
  OUT=$BATS_TEST_TMPDIR/under-fds bash -c "exec \"\$DLOCK\" run $(fresh) -- python3 -c '$list_fds' $1"
  run diff "$BATS_TEST_TMPDIR/direct-fds" "$BATS_TEST_TMPDIR/under-fds"
  assert_success
}

@test "the command finds exactly the caller's descriptors" {
  same_descriptors ''
  same_descriptors '5</dev/null 9</dev/null'
  same_descriptors '3>&- 4>&-'
}

@test "closed standard descriptors stay closed for the command" {
  same_descriptors '<&-'
  same_descriptors '>&-'
  same_descriptors '2>&-'
  same_descriptors '<&- >&- 2>&-'
  same_descriptors '<&- >&- 2>&- 5</dev/null 9</dev/null'
}

@test "P15: with 0, 1 or 2 closed the status is right, and nothing of dlock's goes to Redis" {
  hold busy
  for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
    run -7 bash -c "\"\$DLOCK\" -v run $(fresh) -- sh -c 'exit 7' $closed"
    run -75 bash -c "\"\$DLOCK\" -vv run -n busy -- true $closed"
  done
  let_go
  run -0 r ping
}

@test "a blocked stderr does not keep the lease from being renewed" {
  # A full pipe: dlock's own lines have no room for as long as the command runs.
  run -0 python3 -c 'import fcntl, os, subprocess, sys
reader, writer = os.pipe()
os.set_blocking(writer, False)
try:
    while True: os.write(writer, b"x" * 4096)
except BlockingIOError: pass
os.set_blocking(writer, True)
child = subprocess.Popen(sys.argv[1:], stderr=writer)
try: sys.exit(child.wait(20))
except subprocess.TimeoutExpired:
    child.kill()
    sys.exit("dlock hangs on its stderr")' "$DLOCK" -vv run --ttl 3s -k 200ms "$(fresh)" -- sleep 4.5
  key_gone "$(fresh)"
}

@test "a stdout that is /dev/full is the command's affair" {
  run -1 --separate-stderr bash -c '"$DLOCK" run "$1" -- sh -c "echo x 2>/dev/null || exit 1" >/dev/full' - "$(fresh)"
}

@test "success prints nothing" {
  run -0 --separate-stderr "$DLOCK" run "$(fresh)" -- true
  assert_output ""
  assert_no_stderr
  run -0 --separate-stderr "$DLOCK" run -c true "$(fresh)"
  assert_output ""
  assert_no_stderr
}

@test "working directory, umask, limits, niceness and session are the caller's" {
  cd "$BATS_TEST_TMPDIR"
  umask 027
  ulimit -n 77
  local look='pwd; umask; ulimit -a; nice; ps -o sid= -p $$'
  bash -c "$look" >direct
  "$DLOCK" run "$(fresh)" -- bash -c "$look" >under
  run diff direct under
  assert_success
}

@test "dispositions and the signal mask are the caller's" {
  local look='grep -E "^Sig(Blk|Ign|Cgt)" /proc/self/status'
  run -0 bash -c "trap '' INT HUP; diff <($look) <(\"\$DLOCK\" run $(fresh) -- $look)"
  run -0 python3 -c 'import signal, subprocess, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])
look = ["grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]
direct = subprocess.run(look, stdout=subprocess.PIPE, restore_signals=False).stdout
under = subprocess.run(sys.argv[1:] + look, stdout=subprocess.PIPE, restore_signals=False).stdout
sys.exit(0 if direct == under else f"{direct!r} {under!r}")' "$DLOCK" run "$(fresh)" --
}
