# SPDX-License-Identifier: MIT
# Shared by the suites of dlock doctor: what it found, and that it found nothing. A part of suite.bash.
# shellcheck shell=bash disable=SC2154  # output is set by run

# found LEVEL ID TEXT: checks that the output has such a line.
found() { grep -qE "^$1 $2 +.*$3" <<<"$output" || fail "no $1 $2 $3 in: $output"; }
# findings: prints the errors and warnings of the output in their order; equal ones of several
# servers once.
findings() { grep -oE '^[EW] [a-z]+' <<<"$output" | uniq | xargs; }

# all_keys COMMAND…: prints all keys, with their contents, of the server that redis-cli COMMAND…
# asks.
all_keys() {
  local key
  while read -r key; do
    printf '%s %s\n' "$key" "$("$@" --no-raw dump "$key")"
  done < <("$@" --raw keys '*' | sort)
}

# good_set KEYS WORD…: checks that dlock doctor WORD… finds nothing wrong and can make every check,
# and that each key which the command KEYS prints is as before. On a busy machine the answers may be
# too slow to compare clocks; if that is the only trouble, it runs doctor again.
good_set() {
  local keys=$1 before bad
  shift
  before=$("$keys")
  for _ in 1 2 3; do
    run --separate-stderr "$DLOCK" doctor --strict -v "$@"
    bad=$(grep -E '^[EW?] ' <<<"$output" | grep -v "$(unseen_here)" || true)
    if [ -z "$bad" ] || grep -qv 'answers are too slow to compare clocks$' <<<"$bad"; then break; fi
  done
  assert_success
  assert_no_stderr
  [ -z "$bad" ] || fail "not good: $output"
  [[ ${lines[-1]} =~ ^[0-9]+' good'(', 1 not seen (the server cannot be asked for rights (before Redis 7))')?$ ]] ||
    fail "${lines[-1]}"
  found i trial 'acquire .*, renew .*, inspect .*, release '
  assert_equal "$("$keys")" "$before"
  valid_json 0 "$@"
}

# Prints a pattern of grep for the checks that doctor cannot make on this server.
unseen_here() { tells_rights && echo '^$' || echo '^? rights .*before Redis 7)$'; }
tells_rights() { ! redis-server --version | grep -q ' v=6\.'; }

# refuses_config WORD…: checks dlock doctor WORD… for a user who may not use CONFIG: doctor cannot
# make some checks, and finds nothing wrong.
refuses_config() {
  run "$DLOCK" doctor --strict "$@"
  assert_success
  found '\?' '[a-z, ]*idle, buffers' 'not seen: CONFIG GET is refused$'
  [[ ${lines[-1]} == *" not seen ("*"CONFIG GET is refused"* ]] || fail "${lines[-1]}"
  valid_json 0 "$@"
}

# valid_json STATUS WORD…: dlock doctor --json WORD… ends with STATUS, and prints what its schema says,
# with ids of the table in dlock-doctor(7) only.
valid_json() {
  local status=0 json
  json=$("$DLOCK" doctor --json "${@:2}") || status=$?
  assert_equal "$status" "$1"
  python3 "$PROGRAMS/schema.py" doctor <<<"$json"
  python3 -c '
import json, re, sys
d = json.load(sys.stdin)
page = open(sys.argv[1]).read().split(".SH THE CHECKS")[1].split(".SH ")[0]
known = set(re.findall(r"^\.TP\n\.B ([a-z_]+)$", page, re.M))
assert d["ok"] == (sys.argv[2] == "0"), d
for one in d["findings"] + d["not_seen"]:
    assert one["id"] in known, one
for one in d["findings"]:
    assert bool(one["remedy"]) == (one["level"] in ("error", "warning")), one
' "$PROJECT/man/dlock-doctor.7" "$status" <<<"$json"
}

# identity WORD…: prints the word by which hosts compare their stores.
identity() {
  run "$DLOCK" doctor --json "$@"
  json "d['identity']['digest'] or ''" <<<"$output"
}
