#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: what the kernel and the server see of dlock and its guard is what is written, and nothing
# else: what it sends, opens, signals and executes. Part of the list in tests/security.txt.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server empty cli

# A word that occurs nowhere else.
secret=zq8sesame7xk
setup() {
  set_up
  T=$BATS_TEST_TMPDIR
}

# traced CALLS WORD…: dlock WORD… with the system calls CALLS of each of its threads and children in a
# file $T/trace.PID; MAIN is that of dlock's first thread.
traced() {
  local calls=$1 rc=0
  shift
  rm -f "$T"/trace.*
  strace -ff -qq -xx -o "$T/trace" -s 1000000 -e "trace=execve,prctl,$calls" -e signal=none "$DLOCK" "$@" || rc=$?
  MAIN=$(grep -lE "^execve\(\"$(hex "$DLOCK")\"" "$T"/trace.* | head -n 1)
  [ -s "$MAIN" ] || fail "strace has seen nothing"
  return "$rc"
}
guards() { grep -l "^prctl(PR_SET_NAME, \"$(hex lease-guard)\"" "$T"/trace.*; }
# hex TEXT: as strace -xx writes it, as a regular expression.
hex() { printf %s "$1" | od -An -v -tx1 | tr -d '\n' | sed 's/ /\\\\x/g'; }
# own_calls: what dlock did itself: not the exec that started it, and nothing behind the one of CMD;
# not its guard, which comes by itself below.
own_calls() {
  local file not
  not=$(guards || true)
  for file in "$T"/trace.*; do
    [[ $not != *"$file"* ]] || continue
    if [ "$file" = "$MAIN" ]; then tail -n +2 "$file"; else sed '/^execve(.* = 0$/,$d' "$file"; fi
  done
}
# text: what strace -xx has written, readable.
text() { python3 -c 'import re, sys
print(re.sub(r"\\x(..)", lambda m: chr(int(m[1], 16)), sys.stdin.read()), end="")'; }

# --- what is sent ----------------------------------------------------------------------------------

monitor() {
  redis-cli -s "$REDIS_SOCKET" monitor >"$T/monitor" 3>&- &
  OTHER_PIDS+=" $!"
  eventually 10s file_has "$T/monitor" OK
}
heard() { # SOURCE: the commands of clients ("client") or of scripts ("lua"), CLIENT with its word
  r echo the-end-of-it >/dev/null
  eventually 10s grep -q the-end-of-it "$T/monitor"
  sed -nE -e 's/^[0-9.]+ \[[0-9]+ ([^]]*)\] "(CLIENT)" "([^"]*)".*/\1 \2\n\1 \3/ip; t' \
    -e 's/^[0-9.]+ \[[0-9]+ ([^]]*)\] "([^"]*)".*/\1 \2/p' "$T/monitor" |
    grep -viE ' (echo|ping|monitor|config|script|acl)$' |
    { if [ "$1" = lua ]; then grep '^lua '; else grep -v '^lua '; fi; } | sed 's/.* //' |
    tr '[:lower:]' '[:upper:]' | grep ... | sort -u
}
# The paragraph of the manual that lists commands: of clients, then of scripts.
documented() {
  sed -n '/^\.SH COMMANDS/,/^\.SH ACCESS/p' "$PROJECT/man/dlock-protocol.7" |
    sed -e "$1" | grep -oE '\b[A-Z]{3,}\b' | grep -vxE 'ACCESS|RULES|COMMANDS' | sort -u
}

@test "the commands that Redis sees are the ones in the manual, whatever dlock is used for" {
  r acl setuser worker on '>pass' '~*' '&*' +@all >/dev/null
  export DLOCK_URL="redis+unix://worker:pass@$REDIS_SOCKET?db=1"
  r script flush >/dev/null
  monitor
  every_command "$DLOCK"
  # Older servers do not show AUTH here.
  assert_equal "$({ heard client && echo AUTH; } | sort -u)" "$(documented '/with sentinels/,$d')"
  assert_equal "$(comm -23 <(heard lua) <(documented '/scripts use/,$!d'))" ""
}

# What was written to the server is nothing but arrays of strings with their lengths in front. Which
# descriptor that is says connect: what goes to the guard and to an eventfd may begin with any byte.
check_wire() {
  own_calls | python3 -c '
import os, re, sys
calls = sys.stdin.readlines()
servers = {m[1] for m in (re.match(r"connect\((\d+),", line) for line in calls) if m}
sent = {}
for line in calls:
    m = re.match(r"(?:sendto|sendmsg|writev?)\((\d+).*?\"([^\"]*)\"", line)
    if m and m[1] in servers:
        sent.setdefault(m[1], bytearray()).extend(bytes.fromhex(m[2].replace("\\x", "")))
words = []
for data in sent.values():
    while data:
        head, _, data = data.partition(b"\r\n")
        assert re.fullmatch(rb"\*[0-9]+", head), head
        for _ in range(int(head[1:])):
            size, _, data = data.partition(b"\r\n")
            assert re.fullmatch(rb"\$[0-9]+", size), size
            words.append(bytes(data[: int(size[1:])]))
            assert data[int(size[1:]) :][:2] == b"\r\n", data[:40]
            data = data[int(size[1:]) + 2 :]
assert b"dlock:" + os.fsencode(sys.argv[1]) in words and b"FLUSHALL" not in words, words
print(len(words))' "$1"
}
@test "names and reasons go to Redis as whole words with their length in front" {
  local name='a b "$(x)" $5 *3 '"'; --"$'\t\x01\xc2\x85'
  traced connect,sendto,sendmsg,write,writev run --reason $'one\r\n*1\r\n$8\r\nFLUSHALL\r\n' "$name" -- true
  run -0 check_wire "$name"
  assert [ "$output" -gt 10 ]
}

@test "no name, reason or option makes a script of its own: Redis keeps seven, however many are used" {
  local name
  r script flush >/dev/null
  for name in ']] redis.call("FLUSHALL") --' "' .. x .. '" $'tab\there' '%d' 'plain'; do
    "$DLOCK" run --reason "$name" --ttl 1s "$name" -- sh -c \
      'sleep 0.4; "$DLOCK" inspect "$DLOCK_NAME"; env -u DLOCK_HOLDS "$DLOCK" run -w 50ms "$DLOCK_NAME" -- true
       "$DLOCK" run --or "$0 2" "$0" -- true
       "$DLOCK" force-release --yes --if-owner "$0" "$DLOCK_NAME"' "$name" \
      >/dev/null 2>&1 || true
  done
  run -0 r info memory
  assert_output --partial number_of_cached_scripts:7
  assert_equal "$(find "$PROJECT/src/store/redis/scripts" -maxdepth 1 -name '*.lua' ! -name forget.lua ! -name raise.lua ! -name '*freeze.lua' | wc -l)" 7
  # One place makes the command, out of constants; others name it where they say what was not seen.
  run -0 bash -c "cd '$PROJECT' && grep -rE '\"EVAL(SHA)?\"' src cmd | grep -v 'unseen(' | cut -d : -f 1 | sort -u"
  assert_output src/store/redis/command_bytes.cpp
}

@test "a URL that asks for TLS sends nothing that is not TLS" {
  fake_server silent
  DLOCK_PASSWORD=sesame run -69 traced sendto,write --url "rediss://127.0.0.1:$FAKE_PORT" --connect-timeout 300ms \
    run x -- touch "$MARKER"
  run -0 grep -hE '^sendto\(' "$T"/trace.*
  assert_line --regexp '^sendto\([0-9]+, "\\x16\\x03\\x01'
  run -1 grep -hvE '^[^s]|^sendto\([0-9]+, "\\x16\\x03' "$T"/trace.*
  run -1 grep -hE '\\x41\\x55\\x54\\x48' "$T"/trace.*
  assert_not_started
}

# --- what is opened, signalled, executed ----------------------------------------------------------

leaky() { # descriptors that were not closed to a child from the moment they were made
  own_calls | grep -E '^(open(at2?)?|creat|socket(pair)?|pipe2?|(event|signal)fd[24]?|timerfd_create|inotify_init1?|accept4?|epoll_create1?|dup[23]?|memfd_create)\(|^fcntl\([^)]*F_DUPFD' |
    grep -vE '= -1 E' | grep -v CLOEXEC | text |
    grep -vE '^open\("/(proc/self|tmp/tsan\.)' # a sanitizer's
}
no_leaks() {
  traced %desc,%network "$@" >/dev/null || true
  own_calls | grep -q CLOEXEC || fail "nothing was seen"
  run leaky
  assert_output ""
}
@test "a run starts no thread before its first renewal" {
  traced clone,clone3,fork,vfork run x -- true
  run -1 grep -h CLONE_THREAD "$T"/trace.*
  grep -qE '^(clone3?|v?fork)\(' "$MAIN" || fail "nothing was seen"
  traced clone,clone3,fork,vfork run --ttl 3s -k 200ms x -- sleep 1.2
  grep -q CLONE_THREAD "$MAIN" || fail "no thread was seen"
}

@test "a run that is granted the lock and ended by a signal at once forks no guard" {
  mkdir "$T/locks"
  # Its thread for the store is there before it waits for the first time, which takes two seconds here;
  # the call before that only tries whether a filter refuses it.
  strace -f -o "$T/late" -e trace=clone,clone3,prctl,epoll_wait -e signal=none \
    -e inject=epoll_wait:delay_enter=2000000:when=2 "$DLOCK" --url "local://$T/locks" run x -- true 3>&- &
  OTHER_PIDS+=" $!"
  local strace=$! rc=0
  eventually 10s grep -q CLONE_THREAD "$T/late"
  kill -TERM "$(pgrep -P "$strace" dlock)"
  wait "$strace" || rc=$?
  assert_equal "$rc" 143
  run -1 grep lease-guard "$T/late"
  run -0 "$DLOCK" --url "local://$T/locks" run -n x -- true
}

@test "a file system that hangs keeps neither a run nor renew --every from a signal or its end" {
  local pid
  mkdir "$T/locks"
  slowly() { # WHICH WORD…: dlock WORD… whose rename number WHICH takes half a minute
    local which=$1
    shift
    strace -f -o "$T/slow" -e trace=renameat -e "inject=renameat:delay_enter=30000000:when=$which" \
      -e signal=none "$DLOCK" --url "local://$T/locks" "$@" 3>&- &
    OTHER_PIDS+=" $!"
    eventually 10s grep -q renameat "$T/slow"
    pid=$(pgrep -P $! dlock)
  }
  slowly 1 run x -- true
  kill -TERM "$pid"
  eventually 10s gone "$pid"
  rm -f "$T/slow" "$T/locks"/*
  eval "$("$DLOCK" --url "local://$T/locks" acquire x --ttl 1m)"
  slowly 1 renew x --every 100ms
  kill -TERM "$pid"
  eventually 10s gone "$pid"
}

# The server is none of these stores: a library has read its files when it asks for a connection.
@test "no file of a library, of the home or of the current directory is read, whatever the environment names" {
  local url file opened
  mkdir "$T/home" "$T/here"
  export HOME=$T/home OPENSSL_CONF=$T/here/openssl.cnf SSLKEYLOGFILE=$T/home/keys PGPASSFILE=$T/home/.pgpass \
    PGSERVICEFILE=$T/home/.pg_service.conf PGSSLROOTCERT=$T/home/root.crt MYSQL_HOME=$T/here
  unset DLOCK_CONFIG XDG_CONFIG_HOME
  for file in .pgpass .pg_service.conf .my.cnf .netrc .postgresql .redisclirc; do echo x >"$HOME/$file"; done
  for file in openssl.cnf my.cnf config.toml dlock.toml .env; do echo x >"$T/here/$file"; done
  cd "$T/here"
  for url in "rediss://127.0.0.1:$(free_port)" "postgresql://ann@127.0.0.1:$(free_port)/db" \
    "postgresql://ann@127.0.0.1:$(free_port)/db?sslmode=require" "mysql://ann@127.0.0.1:$(free_port)/db?ssl-mode=required" \
    "etcds://127.0.0.1:$(free_port)" "zookeepers://127.0.0.1:$(free_port)"; do
    DLOCK_URL=$url traced open,openat,stat,newfstatat,access run -n a -- true && fail "a lock at $url" || [ $? = 69 ]
    opened=$(own_calls | text | grep -oE '"[^"]*"' | tr -d '"' | grep -E "^($T|[^/])" || true)
    [[ $opened == *"$HOME/.config/dlock"* ]] # so this would see others
    assert_equal "$(grep -vE "^$HOME/.config/dlock" <<<"$opened")" ""
  done
}

@test "every descriptor is closed to children from the moment it is made" {
  local port
  every_command no_leaks
  no_leaks run --contain x -- true
  mkdir "$T/locks"
  DLOCK_URL=local://$T/locks no_leaks run x -- true
  port=$(free_port)
  printf 'url = "redis://127.0.0.1:%s"\nconnect-timeout = "100ms"\n' "$port" >"$T/config.toml"
  echo pass >"$T/password" && chmod 600 "$T/password"
  no_leaks --config "$T/config.toml" --password-file "$T/password" run x -- true
}

# Of a directory's locks: how many replaced files were closed while a lock was held, and after it. The
# first has to be none, for the last close frees a file, and may wait for the disk.
freed() {
  own_calls | awk -F '[(,)]' '
    /^flock/ { held = /LOCK_EX/ && / = 0$/ }
    /^openat.*O_PATH.* = [0-9]+$/ { sub(/.* = /, ""); old[$0] = 1 }
    /^close/ && ($2 in old) { delete old[$2]; held ? ++inside : ++after }
    END { print inside + 0, after + 0 }'
}
@test "in a directory no file is freed while others wait for its lock" {
  mkdir "$T/locks"
  export DLOCK_URL=local://$T/locks
  "$DLOCK" run x -- true
  traced openat,flock,close run x -- true # the release closes what the grant has replaced
  assert_equal "$(freed)" "0 1"
}

executed() { grep -hE '^execve\(' "$T"/trace.* | text | sed -E 's/^execve\("([^"]*)".*/\1/' | sort -u; }
@test "dlock executes CMD, or SHELL for -c, and nothing else" {
  printf '#!/bin/sh\n' >"$T/job" && chmod +x "$T/job"
  traced execve run x -- "$T/job"
  assert_equal "$(executed)" "$(printf '%s\n' "$DLOCK" "$T/job" | sort)"
  SHELL=$T/job traced execve run -c 'a | b' x
  assert_equal "$(executed)" "$(printf '%s\n' "$DLOCK" "$T/job" | sort)"
  PATH=$T/none:$T:$PATH traced execve run x -- job
  assert_equal "$(executed)" "$(printf '%s\n' "$DLOCK" "$T/job" "$T/none/job" | sort)"
  hold "$(fresh)"
  for words in "inspect $(fresh)" list "force-release --now --yes $(fresh)"; do
    # shellcheck disable=SC2086  # several words
    traced execve $words >/dev/null
    assert_equal "$(executed)" "$DLOCK"
  done
  let_go || true
}

@test "signals go only to the command's group, while its leader is not yet reaped" {
  local leader main guard signals
  traced kill,tkill,tgkill,pidfd_send_signal,wait4,waitid run --kill-after 200ms --ttl 3s x -- \
    sh -c 'trap "" TERM; echo $$ >"$0"; kill -TERM $PPID; sleep 1000 & sleep 1000' "$T/leader" || true
  leader=$(cat "$T/leader") main=${MAIN##*.} guard=$(guards) guard=${guard##*.}
  signals=$(own_calls | grep -E '^(t|tg|pidfd_send_signal|)kill\(|^pidfd_send' |
    grep -vE "^(kill\($main|tgkill\($main, $main), SIGKILL\)") # it ends as the command did
  [[ $signals == *SIGTERM* && $signals == *SIGKILL* ]] || fail "not stopped: $signals"
  assert_equal "$(grep -vE "^kill\((-$leader, SIG(TERM|CONT|KILL)|$guard, SIGKILL)\)" <<<"$signals")" ""
  # Behind the wait that takes a process away its number is not used any more.
  local pid
  for pid in "$leader" "$guard"; do
    run -0 awk -v pid="$pid" '
      $0 ~ "^wait(4|id)\\((P_PID, )?" pid ",.*= " && !/WNOWAIT|WSTOPPED|= 0$/ { reaped = 1; next }
      $0 ~ "^kill\\(-?" pid "," && reaped { print "late: " $0 }
      END { if (!reaped) print "not reaped" }' "$MAIN"
    assert_output ""
  done
}

# --- the guard ------------------------------------------------------------------------------------

guard_of() { eventually 5s pgrep -P "$1" -x lease-guard; } # it names itself
# clock_gettime is a system call only where the kernel cannot spare it.
calls_after_start() {
  sed '1,/^close_range/d; s/(.*//' "$1" | grep -vE '^(\+\+\+|clock_gettime)' | sort -u | xargs
}

@test "a password in an argument is in no command line, nor in the guard's" {
  r config set requirepass "$secret" >/dev/null
  export REDISCLI_AUTH=$secret
  local guard
  hold "$(fresh)" --url "redis+unix://:$secret@$REDIS_SOCKET"
  guard=$(guard_of "$HOLDER")
  run -0 tr '\0' ' ' <"/proc/$HOLDER/cmdline"
  assert_output --partial "redis+unix://:************@"
  run -0 tr '\0' ' ' <"/proc/$guard/cmdline"
  refute_output --partial "redis+unix"
  r config set requirepass '' >/dev/null
  let_go
}

@test "the guard knows a dozen system calls, opens nothing, and can kill only its own group" {
  local guard
  traced all run --ttl 6s "$(fresh)" -- sleep 5 # two renewals, so that its deadline moves
  guard=$(guards)
  # Its start: gives away what it inherited, makes nothing.
  run -0 sh -c 'sed "/^close_range/q; s/(.*//" "$0"' "$guard"
  refute_line --regexp '^(open.*|socket.*|connect|bind|mmap|brk|clone.*|v?fork|execve.*|pipe.*|setns|unshare)$'
  assert_line --regexp '^close_range\(3, 4294967295, 0\) *= 0'
  # Then nothing but these, on its own line to dlock.
  run -0 calls_after_start "$guard"
  assert_output "poll recvfrom sendto setpgid timerfd_settime"
  run -1 grep -E '^(sendto|recvfrom)\([^0]' "$guard"
  run -0 grep -cE '^timerfd_settime' "$guard"
  assert [ "$output" -ge 2 ]
}

@test "the guard of a killed dlock kills its own group and does nothing else" {
  run traced all run --ttl 5s "$(fresh)" -- sh -c 'kill -KILL $PPID; sleep 1000'
  run -0 grep -E '^(t|tg|pidfd_send_signal|)kill\(' "$(guards)"
  assert_output --regexp '^kill\(0, SIGKILL\)[^'$'\n'']*$'
  run -0 calls_after_start "$(guards)"
  assert_output "kill poll recvfrom sendto setpgid timerfd_settime write"
}

@test "the guard has no descriptor of the command, the caller or the store" {
  exec 7<"$BATS_TEST_FILENAME"
  hold "$(fresh)"
  exec 7<&-
  local guard
  guard=$(guard_of "$HOLDER")
  guard_is_ready() { [ "$(find "/proc/$guard/fd" -type l | wc -l)" -le 3 ]; }
  eventually 10s guard_is_ready
  run -0 sh -c 'readlink /proc/'"$guard"'/fd/* | sed "s/:\[.*//" | sort | xargs'
  assert_output "anon_inode socket"
  let_go
}
