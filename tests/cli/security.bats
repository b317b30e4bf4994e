#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: tests/security.txt is whole, each of its tests exists, and what no other suite shows of it
# is here: what dlock keeps, hands down and says, and how it is installed. See also traced.bats.
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
teardown() {
  clean_up
  [ -z "${OUTSIDE:-}" ] || rm -rf "$OUTSIDE"
}

# --- the list --------------------------------------------------------------------------------------

# wrong_in LIST: what is wrong with it, a line each.
wrong_in() {
  local id rule tests
  diff <(seq -f 'S%02g' 30) <(grep -v '^#' "$1" | cut -d '|' -f 1) | sed -n 's/^[<>]/not once, in order:/p'
  while IFS='|' read -r id rule tests; do
    [ "${#rule}" -gt 20 ] || echo "$id: no rule"
    [ -n "$tests" ] || echo "$id: neither a test nor a reason"
    tr '|' '\n' <<<"$tests" | grep -vE '^(not run: .{10}|$)' | grep -vxFf <(all_tests) | sed "s/^/$id: no such test: /"
  done < <(grep -v '^#' "$1")
}
@test "the list has every id with its rule, and its tests exist" {
  run -0 wrong_in "$PROJECT/tests/security.txt"
  assert_output ""
}

# bats test_tags=nightly
@test "a list that lacks an id, a rule or a test is noticed" {
  local edit
  for edit in /^S13/d 's/^S13/S12/' 's/^(S13)\|[^|]*/\1|/' 's/^(S13\|[^|]*).*/\1/' 's/^(S13.*)/\1|cli\/security: no such thing/' \
    's/^(S13\|[^|]*).*/\1|not run: /'; do
    sed -E "$edit" "$PROJECT/tests/security.txt" >"$T/list"
    run -0 wrong_in "$T/list"
    refute_output ""
  done
}

# --- what is kept and handed down -----------------------------------------------------------------

@test "the command has its caller's settings, and a password in a file is not among them" {
  r config set requirepass "$secret" >/dev/null
  export REDISCLI_AUTH=$secret with_url=redis+unix://:$secret@$REDIS_SOCKET
  # What the caller has in its environment the command has as well, or nothing could nest.
  DLOCK_URL=$with_url run -0 env -u REDISCLI_AUTH "$DLOCK" run x -- sh -c 'echo "$DLOCK_URL"; exec "$DLOCK" run x -- echo inner'
  assert_output "$with_url"$'\n'inner
  # A file keeps it out of there, and nesting goes on.
  echo "$secret" >"$T/password" && chmod 600 "$T/password"
  printf 'url = "redis+unix://%s"\npassword-file = "%s"\n' "$REDIS_SOCKET" "$T/password" >"$T/config.toml"
  DLOCK_CONFIG=$T/config.toml run -0 env -u REDISCLI_AUTH -u DLOCK_URL -u with_url "$DLOCK" run x -- \
    sh -c 'env; "$DLOCK" run x -- echo inner'
  assert_line inner
  refute_output --partial "$secret"
  r config set requirepass '' >/dev/null
}

@test "no key that dlock makes is without an end" {
  every_command "$DLOCK" >/dev/null 2>&1
  hold "$(fresh k)" --ttl 5s
  kill -STOP "$HOLDER" # or it would obey, and nothing be left of it
  "$DLOCK" force-release --yes "$(fresh k)" >/dev/null 2>&1 3>&- &
  eventually 10s key_exists "revoked:{dlock:$(fresh k)}"
  kill -KILL "$HOLDER"
  local key ttl count=0
  for key in $(r keys '*'); do
    ttl=$(r pttl "$key")
    [ "$ttl" = -2 ] || [[ $ttl -ge 0 && $ttl -le 86400000 ]] || fail "$key lives for $ttl ms"
    count=$((count + 1))
  done
  [ "$count" -ge 4 ]
  wait || true
}

@test "waiters are in two keys, and leave nothing behind, however many there are" {
  hold "$(fresh)"
  local before i waiting=()
  r get none >/dev/null # what has expired is gone
  before=$(r dbsize)
  for i in {1..20}; do
    "$DLOCK" run -w 60s --reason "$(printf '%0100000d' 0)" "$(fresh)" -- true 2>/dev/null 3>&- &
    waiting+=($!)
    [ "$i" != 10 ] || "$DLOCK" run -n "$(fresh)" -- touch "$MARKER" 2>/dev/null || true
  done
  eventually 10s waiters 20
  assert_equal "$(r dbsize)" $((before + 2))
  let_go
  wait "${waiting[@]}"
  assert_not_started
  assert_no_keys
}
waiters() { [ "$(r zcard "dlock:line:{dlock:$(fresh)}")" -ge "$1" ]; }

@test "a lock's name never leads out of the directory of a local store" {
  mkdir -p "$T/outer/locks"
  local name
  for name in ../escaped ../../escaped /etc/passwd "$T/outer/escaped" .. . 'a/../../escaped' ~ -; do
    DLOCK_URL=local://$T/outer/locks run -7 "$DLOCK" run "$name" -- sh -c 'exit 7'
  done
  run -0 find "$T" -name '*escaped*' ! -path "$T/outer/locks/*"
  assert_output ""
  run -0 find "$T/outer" -mindepth 1 -type f ! -path "$T/outer/locks/*"
  assert_output ""
  run -0 find "$T/outer/locks" -mindepth 2
  assert_output ""
}

# --- what is said ---------------------------------------------------------------------------------

# one_event_a_line FORMAT: stderr is lines of dlock, whatever was in the words.
one_event_a_line() {
  [ "${#stderr_lines[@]}" -gt 0 ] || fail "nothing was said"
  ! LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]' <<<"$stderr" || fail "$(cat -v <<<"$stderr")"
  if [ "$1" = json ]; then
    python3 -c 'import json, sys
for line in sys.stdin: assert isinstance(json.loads(line), dict), line' <<<"$stderr"
  else
    [[ $stderr != *$'\u202e'* ]]
    assert_equal "$(grep -vc '^dlock: ' <<<"$stderr")" 0
  fi
}
# held_by_another NAME TEXT: a lock whose holder says TEXT (as in JSON) about itself where it can.
held_by_another() {
  local owner=6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57 tag="{dlock:$1}"
  [[ $1 != *"{"* ]] || tag=dlock:$1
  r hset "dlock:$1" $owner 1 >/dev/null
  r hset "dlock:holds:$tag" "$owner#0000000000000000" \
    "{\"token\":1,\"since_ms\":1,\"host\":\"$2\",\"pid\":1,\"user\":\"u\",\"command\":\"c\",\"reason\":\"$2\",\"ttl_ms\":1}" >/dev/null
  [[ $("$DLOCK" inspect "$1") == *'pid 1 '* ]] || fail "the record was not taken"
}
@test "one event is one line, whatever others have written into names, reasons and errors" {
  local format evil=$'\e[2J"}\t\x07{}%s\u202e'
  fake_server error "ERR $evil"
  held_by_another "$evil" $'\\ndlock: forged\\u001b'
  for format in text json; do
    run -75 --separate-stderr "$DLOCK" -vv --log-format "$format" run -w 1200ms "$evil" -- true
    one_event_a_line "$format"
    [[ $stderr == *forged* ]]
    [ "$(grep -c '^dlock: forged' <<<"$stderr")" = 0 ]
    run -0 --separate-stderr "$DLOCK" -vv --log-format "$format" run --reason "$evil" "x$evil" -- true
    one_event_a_line "$format"
    run -69 --separate-stderr "$DLOCK" -vv --log-format "$format" --connect-timeout 300ms \
      --url "redis://127.0.0.1:$FAKE_PORT" run "$evil" -- true
    one_event_a_line "$format"
    [[ $stderr == *'{}%s'* ]] # a format string is text
  done
}

@test "an event too long for a line loses its text, not its line" {
  local name many format
  name=$(printf '\x01%.0s' {1..500})
  many=$(printf '\\u0001%.0s' {1..256})
  held_by_another "$name" "$many"
  for format in text json; do
    run -75 --separate-stderr "$DLOCK" -vv --log-format "$format" run -w 1200ms "$name" -- true
    one_event_a_line "$format"
    # Each in a line of its own.
    [ "$(grep -cE '^dlock: (waiting|"\\x01)|"event":"(waiting|busy)"' <<<"$stderr")" -ge 2 ]
    [[ $stderr != *[^$'\n']'dlock: '* ]]
  done
}

@test "list and inspect show names that could be mistaken so that they cannot" {
  local name
  for name in 'a' 'a ' ' a' 'a,b' $'caf\u00e9' $'cafe\u0301'; do
    r set "dlock:$name" x px 60000 >/dev/null
  done
  run -0 "$DLOCK" list
  assert_equal "$(printf '%s\n' "${lines[@]%%: *}" | sort -u | wc -l)" 6
  run -0 "$DLOCK" list --json
  run -0 json 'len({l["name"] for l in d["locks"]})' <<<"$output"
  assert_output 6
}

# --- how it is installed --------------------------------------------------------------------------

@test "installed set-uid it refuses to run (needs root)" {
  [ "$(id -u)" = 0 ] || skip "needs root to make a set-uid copy"
  # Outside the folders of the suite, which are closed to other users.
  OUTSIDE=$(mktemp -d "${TMPDIR:-/tmp}/dlock-security.XXXXXX")
  chmod 755 "$OUTSIDE"
  install -m 4755 "$DLOCK" "$OUTSIDE/dlock"
  local words
  for words in 'run x -- id' 'run -c id x' 'inspect x' 'list' '--version'; do
    # shellcheck disable=SC2086  # several words
    run -125 --separate-stderr setpriv --reuid=nobody --regid=nogroup --clear-groups \
      env DLOCK_CONFIG=/etc/shadow "$OUTSIDE/dlock" $words
    assert_output ""
    assert_one_line
    assert_stderr_has set-uid
  done
  chmod u-s "$OUTSIDE/dlock"
  # Or with a capability of its file (CAP_CHOWN), where the file system has any.
  if python3 -c 'import os, struct, sys
os.setxattr(sys.argv[1], "security.capability", struct.pack("<5I", 0x02000001, 1, 0, 0, 0))' "$OUTSIDE/dlock"; then
    run -125 --separate-stderr setpriv --reuid=nobody --regid=nogroup --clear-groups "$OUTSIDE/dlock" list
    assert_one_line
    install -m 755 "$DLOCK" "$OUTSIDE/dlock"
  fi
  run -0 setpriv --reuid=nobody --regid=nogroup --clear-groups "$OUTSIDE/dlock" --version
}

# The page as it is read, in one line.
manual() { MANWIDTH=9999 mandoc -Tutf8 "$PROJECT/man/dlock.1" | col -bx | tr -s ' \n' ' '; }
@test "the manual says what the command inherits, and the way around it" {
  run -0 manual
  assert_output --partial "The command inherits the whole environment of dlock, DLOCK_URL and DLOCK_PASSWORD too"
  assert_output --partial "--password-file"
}

@test "the manual says that whoever may use the store can release every lock" {
  run -0 manual
  assert_output --partial "Everyone who may use the store with the same rights can release every lock there"
}

@test "formats of messages are constants: anything else does not compile" {
  run -0 grep -cE -- '-Wformat=2|-Werror=format-security' "$PROJECT/CMakeLists.txt"
  assert_output 2
  run -1 grep -rnE 'fmt::runtime|vformat|%n"' "$PROJECT/src" "$PROJECT/cmd"
}

# --- who may do what ------------------------------------------------------------------------------

@test "a link to a file that others can write is judged by the file" {
  printf 'ttl = "5s"\n' >"$T/open.toml"
  chmod 666 "$T/open.toml"
  ln -s open.toml "$T/link.toml"
  run -78 --separate-stderr "$DLOCK" --config "$T/link.toml" run x -- touch "$MARKER"
  assert_stderr_has 'can be written by others'
  assert_not_started
  chmod 644 "$T/open.toml"
  run -0 "$DLOCK" --config "$T/link.toml" run x -- true
}

# A program that belongs to root, and makes itself root altogether.
root_sleeps() {
  printf '#include <unistd.h>\nint main() { return setresuid(0, 0, 0) || execlp("sleep", "sleep", "1000", nullptr); }\n' |
    "${CXX:-c++}" -x c++ -o "$1" -
  chmod 4755 "$1"
}
@test "a command of another user is said to be beyond our signals, and its lock is kept (needs root)" {
  [ "$(id -u)" = 0 ] || skip "needs root to make a set-uid program"
  OUTSIDE=$(mktemp -d "${TMPDIR:-/tmp}/dlock-security.XXXXXX")
  chmod 755 "$OUTSIDE"
  install -m 755 "$DLOCK" "$OUTSIDE/dlock"
  install -d -o nobody "$OUTSIDE/locks"
  root_sleeps "$OUTSIDE/root"
  cd "$OUTSIDE"
  local as_nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups env "DLOCK_URL=local://$OUTSIDE/locks" "$OUTSIDE/dlock")
  "${as_nobody[@]}" run --ttl 3s --kill-after 200ms x -- "$OUTSIDE/root" 2>"$T/err" 3>&- &
  HOLDER=$!
  eventually 10s pgrep -P "$HOLDER" -x sleep
  kill -TERM "$HOLDER"
  eventually 10s file_has "$T/err" "has not ended after SIGKILL; the lock is not released before it has"
  run -0 "${as_nobody[@]}" inspect -q x
  # Somebody who may ends it. It is not said that dlock did, and there was no storm of lines or signals.
  local rc=0
  kill "$(pgrep -P "$HOLDER" -x sleep)"
  wait "$HOLDER" || rc=$?
  assert_equal "$rc" 143
  [ "$(grep -c 'has not ended after SIGKILL' "$T/err")" -le 20 ]
  run -1 "${as_nobody[@]}" inspect -q x
}
