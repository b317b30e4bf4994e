#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: whatever words, variables, files and data dlock is given, it does what it says or refuses in
# one line; it never crashes, never lets two in for it, and never writes what controls a terminal.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server empty cli

java=6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57
# plant NAME FIELD COUNT ID RECORD: a lock with a record in dlock's notes
plant() {
  r hset "dlock:$1" "$2" "$3" >/dev/null
  r pexpire "dlock:$1" 60000 >/dev/null
  r hset "dlock:holds:{dlock:$1}" "$4" "$5" >/dev/null
  r pexpire "dlock:holds:{dlock:$1}" 60000 >/dev/null
}
clean_text() { # TEXT WHERE: no control characters, valid UTF-8, nothing that turns the text around
  ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' <<<"$1" || fail "a control character in $2: $(cat -v <<<"$1")"
  iconv -f UTF-8 -t UTF-8 <<<"$1" >/dev/null || fail "invalid UTF-8 in $2"
}
# looked_at NAME: every command that reads NAME bears it, and says so in clean text.
looked_at() {
  run -0 --separate-stderr "$DLOCK" inspect "$1"
  clean_text "$output" "inspect $1"
  run -0 --separate-stderr "$DLOCK" inspect --json "$1"
  clean_text "$output" "inspect --json $1"
  run -0 json 'd["schema"]' <<<"$output"
  run -0 --separate-stderr "$DLOCK" list
  clean_text "$output" "list of $1"
  run -75 --separate-stderr "$DLOCK" run -n "$1" -- touch "$MARKER"
  assert_one_line
  clean_text "$stderr" "a refusal for $1"
  [ ! -e "$MARKER" ]
}

@test "K15: malformed counts are shown as they are, and no claim is admitted" {
  local count
  for count in abc -1 0 9223372036854775808 99999999999999999999999999 '' 1.5 $'1\e[2J'; do
    plant counted "$java" "$count" "$java#0000000000000000" '{"token":1}'
    looked_at counted
    r del dlock:counted 'dlock:holds:{dlock:counted}' >/dev/null
  done
}

@test "K15: records that are no JSON, or another, are borne" {
  local record
  for record in '' '{' 'null' '[]' '[1]' '1' '"x"' '{}' '{"token":"x"}' '{"token":-1}' '{"token":1e400}' \
    '{"token":99999999999999999999}' '{"host":1,"pid":"x","user":null,"command":[],"reason":{}}' \
    '{"since_ms":-99999999999999999,"ttl_ms":99999999999999999999}' '{"since_ms":9223372036854775807,"ttl_ms":-5}' \
    $'{"host":"\xff\xfe","user":"\xc3"}' '{"a":{"a":{"a":{"a":{"a":{}}}}}}' "$(printf '[%.0s' {1..5000})" \
    "{\"reason\":\"$(printf '%09000d' 0)\"}"; do
    plant noted "$java" 1 "$java#0000000000000000" "$record"
    looked_at noted
    [ ${#output} -lt 4000 ]
  done
}

@test "what others wrote is shown with its control characters escaped" {
  local evil='\u001b]0;owned\u0007\u001b[2J\r\n\u009b\u202e\u2066'
  plant shown "$java" 1 "$java#"$'\e[31m\xff' \
    "{\"token\":1,\"since_ms\":1,\"host\":\"h$evil\",\"pid\":1,\"user\":\"u$evil\",\"command\":\"c$evil\",\"reason\":\"r$evil\",\"ttl_ms\":1}"
  looked_at shown
  run -0 "$DLOCK" inspect shown
  [[ $output != *$'\u202e'* && $output != *$'\u2066'* && $output != *$'\u009b'* ]]
  assert_output --partial '\x1b'
  r hset 'dlock:revoked:{dlock:shown}' owner "$java" by $'\e[2Jsomebody' >/dev/null
  looked_at shown
}

@test "a holder whose id is no id is shown and left alone" {
  local owner
  for owner in '' x "$(printf '%010000d' 0)" $'\e[2J' $'\xff\xfe' '#' "$java#$java"; do
    plant owned "$owner" 1 "$owner#1" '{"token":1}'
    looked_at owned
    r del dlock:owned 'dlock:holds:{dlock:owned}' >/dev/null
  done
}

@test "more owners and notes than there can be are counted, not printed" {
  r eval 'for i = 1, 20000 do redis.call("HSET", KEYS[1], "o" .. i, 1); redis.call("HSET", KEYS[2], "o" .. i .. "#1", "{}") end' \
    2 dlock:many 'dlock:holds:{dlock:many}' >/dev/null
  looked_at many
  run -0 "$DLOCK" inspect --json many
  [ ${#output} -lt 20000 ]
  run -0 json 'd["locks"][0]["owner_count"]' <<<"$output"
  assert_output 20000
}

@test "names that others made and dlock would refuse do not break list" {
  r set $'dlock:two\nlines' x >/dev/null
  r set 'dlock:' x >/dev/null
  r set "dlock:$(printf '%0600d' 0)" x >/dev/null
  r set $'dlock:\e[2J' x >/dev/null
  r set $'dlock:\xff' x >/dev/null
  r set dlock:fine x >/dev/null
  run -0 --separate-stderr "$DLOCK" list
  clean_text "$output" list
  assert_line --partial 'fine: '
  run -0 "$DLOCK" list --json
  run -0 json '"fine" in [l["name"] for l in d["locks"]]' <<<"$output"
  assert_output true
}

@test "a glob of any shape is one pattern for the server" {
  r set dlock:fine x >/dev/null
  local glob
  for glob in '' '[' '[[[' $'\\' $'*\\' '[^' '[a-' '**********************************x' $'\xff' $'a\nb' "$(printf '*%.0s' {1..3000})"; do
    run --separate-stderr timeout 20 "$DLOCK" list "$glob"
    [ "$status" = 0 ] || [ "$status" = 64 ] || fail "$glob: $status $stderr"
  done
}

@test "a reason of any length and kind is kept short and clean" {
  run -0 "$DLOCK" run --reason "$(printf '%0100000d' 0)" "$(fresh)" -- "$DLOCK" inspect "$(fresh)"
  [ ${#output} -lt 2000 ]
  run -0 "$DLOCK" run --reason $'\e[2J\xff\n\u202e' "$(fresh)" -- "$DLOCK" inspect "$(fresh)"
  clean_text "$output" inspect
  run -0 "$DLOCK" run --reason $'\xff"\\\n' "$(fresh)" -- "$DLOCK" inspect --json "$(fresh)"
  run -0 json 'd["locks"][0]["state"]' <<<"$output"
  assert_output held
}

@test "a long command name is kept short" {
  local long=$BATS_TEST_TMPDIR i
  for i in 1 2 3 4; do long+=/$(printf '%0200d' "$i"); done
  mkdir -p "$long"
  printf '#!/bin/sh\nexec "$DLOCK" inspect "$DLOCK_NAME"\n' >"$long/job"
  chmod +x "$long/job"
  run -0 "$DLOCK" run "$(fresh)" -- "$long/job"
  [ ${#output} -lt 2000 ]
}

@test "names and reasons with quotes, brackets and percent signs reach Lua and JSON as data" {
  local text
  for text in "'; redis.call('FLUSHALL') --" ']]' '%s%n%d' '{{}}' '"}],"x":["' '\"' '$(touch x)' '`id`'; do
    "$DLOCK" run --reason "$text" "$text" -- "$DLOCK" inspect --json "$text" >"$BATS_TEST_TMPDIR/json"
    [ "$(json 'd["locks"][0]["holds"][0]["reason"]' <"$BATS_TEST_TMPDIR/json")" = "$text" ]
    [ "$(json 'd["locks"][0]["name"]' <"$BATS_TEST_TMPDIR/json")" = "$text" ]
  done
  assert_no_keys
}

@test "rubbish in the environment is refused or without effect" {
  local rubbish
  for rubbish in '|' '||||' '%' "$(printf '%0120000d' 0)" $'\xff\e' "$(printf 'a|b|c|d %.0s' {1..5000})"; do
    DLOCK_HOLDS=$rubbish run -0 --separate-stderr "$DLOCK" run "$(fresh)" -- true
    assert_no_stderr
  done
  DLOCK_NO_SUCH_SETTING=1 DLOCK_=1 run -0 "$DLOCK" run "$(fresh)" -- true
  SHELL=/nonexistent/shell run -127 "$DLOCK" run -c true "$(fresh)"
  run -0 env -i DLOCK_URL="$DLOCK_URL" "$DLOCK" run "$(fresh)" -- /bin/true
  PATH='' run -127 "$DLOCK" run "$(fresh)" -- true
}

@test "no argv at all is usage" {
  run -0 python3 -c 'import ctypes, os, sys
pid = os.fork()
if pid == 0:
    libc = ctypes.CDLL(None)
    libc.execv(sys.argv[1].encode(), (ctypes.c_char_p * 1)(None))
    os._exit(99)
status = os.waitpid(pid, 0)[1]
sys.exit(0 if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 64 else f"status {status}")' "$DLOCK"
}

@test "a thousand random command lines end with a documented status, none by a crash" {
  run -0 python3 - "$DLOCK" <<'END'
import random, subprocess, sys, os
rand = random.Random(int.from_bytes(b"dlock", "big"))
words = ["run", "inspect", "list", "force-release", "--", "-", "", "-n", "-w", "-w0", "-E", "-E9", "--ttl", "2s", "--ttl=2s", "-k", "0.1",
         "--signal", "TERM", "-c", "true", "--reason", "[a,b]", "--json", "-q", "-v", "-vv", "--yes", "--now", "--if-owner", "--if-token", "7",
         "--url", os.environ["DLOCK_URL"], "--prefix", "p:", "--config", "/dev/null", "--color", "always", "--log-format", "json", "x", "y",
         "true", "false", "--help", "--version", "--bogus", "-Z", "--=", "-=", "--ttl=", "=", "\x1b[2J", "\udcff", "a" * 600, "--on-lost", "stop", "*"]
allowed = {0, 1, 9, 64, 69, 75, 77, 78, 126, 127}
for turn in range(1000):
    argv = [rand.choice(words) for _ in range(rand.randrange(7))]
    p = subprocess.run([sys.argv[1]] + argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=10)
    if p.returncode not in allowed or b"internal error" in p.stderr:
        sys.exit(f"{argv}: {p.returncode} {p.stderr!r}")
    if b"\x1b[2J" in p.stderr:
        sys.exit(f"{argv}: an escape on stderr: {p.stderr!r}")
END
}

@test "random config files are read or refused, none ends in a crash" {
  run -0 python3 - "$DLOCK" "$BATS_TEST_TMPDIR/config.toml" <<'END'
import os, random, subprocess, sys
rand = random.Random(7)
pieces = ["ttl", "wait", "url", "reason", "=", " = ", '"', "'", "\n", "\n", "[", "]", "#", "2s", "1", "true", ",", "\\", "\0", "\r", "é", "\x1b[2J",
          '"""', "{", "}", ".", "x", "-", '"2s"', "[run]"]
for turn in range(300):
    with open(sys.argv[2], "wb") as f:
        f.write("".join(rand.choice(pieces) for _ in range(rand.randrange(25))).encode())
    os.chmod(sys.argv[2], 0o600)
    p = subprocess.run([sys.argv[1], "--config", sys.argv[2], "inspect", "x"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=10)
    if p.returncode not in (0, 78, 69) or b"internal error" in p.stderr or b"\x1b[2J" in p.stderr:
        sys.exit(f"{open(sys.argv[2], 'rb').read()!r}: {p.returncode} {p.stderr!r}")
END
}
