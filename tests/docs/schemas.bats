#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the JSON of each command is as dlock-json(7) shows it and as its schema says; the schemas
# notice a member that is missing or of another type. Events, and what other stores say: cli/schemas.
# shellcheck disable=SC2034,SC2154  # set by set_up_docs, and exported there

load ../support/suite
suite docs

setup() {
  set_up_docs
  own_store
  page=dlock-json.7
  DLOCK_URL=sqlite://$PWD/locks.db
}

schema() { python3 "$PROGRAMS/schema.py" "$@"; }
told() { python3 -S -c 'import json, sys; d = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1" <<<"$output"; }

# fits NAME: the last output is such an object; the end of the test looks at all of them, as that takes one
# process of Python.
fits() {
  echo "$output" >"$1.json"
  note "$1" "$1.json"
}
note() { mkdir -p noted && cp "$2" "noted/$(find noted -type f | wc -l).$1"; } # NAME FILE

# What a schema would not notice would be written here: members that may be missing. Some members may be
# null; so may those that are null elsewhere.
teardown() {
  local nullable='(pid|since_ms|age_ms|ttl_ms|token|lease_left_ms|revoked_by|success|frozen|last|waited_ms|exit_status|signal|value|digest|product|version|role|latency_ms)'
  clean_up
  [ -d noted ] || return 0
  run -0 schema fits noted/*
  output=$(grep -vE "$nullable null\$" <<<"$output" || true)
  assert_output ""
}

# same_members SHOWN PRINTED [PATH…]: the objects at these places have the same members, in order.
same_members() {
  python3 -S - "$@" <<'P'
import json, sys
shown, printed = (json.load(open(path)) for path in sys.argv[1:3])
for where in ["", *sys.argv[3:]]:
    page, ours = (list(eval("d" + where, {"d": d})) for d in (shown, printed))
    assert page == ours, f"{where}: {page} on the page, {ours} printed"
P
}
# page_is NAME SECTION TEXT [PATH…]: what the page shows there is as NAME.json, and such an object.
page_is() {
  example "$2" "$3" "$page" >page.json
  same_members page.json "$1.json" "${@:4}"
  note "$1" page.json
}

@test "a lock that is held, and one that is free, are as the page and the schema say" {
  run -0 dlock run order-42 -- dlock inspect --json order-42
  fits inspect
  page_is inspect "INSPECT AND LIST" '"schema"' '["locks"][0]' '["locks"][0]["owners"][0]' \
    '["locks"][0]["holds"][0]'
  run -0 dlock inspect --json order-42 other
  fits inspect
  assert_equal "$(told '[len(d["locks"]), *d["locks"][0]]')" \
    "[2, 'name', 'key', 'state', 'waiting', 'line', 'success', 'frozen', 'last']"
  run -0 dlock list --json 'no*'
  fits inspect
}

@test "a lock in each mode, kept, waited for, revoked and remembered is as the schema says" {
  local mode
  for mode in -x -s '--slots 3'; do
    # shellcheck disable=SC2086  # split on purpose
    run -0 dlock run $mode a -- dlock inspect --json a
    fits inspect
    # shellcheck disable=SC2086
    run -0 env -u DLOCK_HOLDS dlock acquire $mode b
    dlock run -x b -- true 2>/dev/null 3>&- &
    eventually 10s waiter_shown b
    run -0 dlock list --json
    fits inspect
    assert_equal "$(told 'd["locks"][-1]["waiting"]')" 1
    dlock force-release --yes b 2>/dev/null 3>&- &
    eventually 10s revoked_shown b
    run -0 dlock inspect --json b
    fits inspect
    run -0 dlock force-release --now --yes b
    wait
  done
  run -0 dlock run --min-hold 1m --once-per 1h c -- true
  run -0 dlock inspect --json c
  fits inspect
  assert_equal "$(told 'd["locks"][0]["holds"][0]["kept"], "left_ms" in d["locks"][0]["success"]')" "(True, True)"
  run -0 dlock run -x c2 -- dlock run -s c2 -- dlock inspect --json c2 # two holds
  fits inspect
}
waiter_shown() { dlock inspect "$1" | grep -q waiting; }
revoked_shown() { dlock inspect "$1" | grep -q revoked; }

@test "what acquire prints is as the page and the schema say" {
  run -0 dlock acquire --json order-42
  fits acquire
  page_is acquire ACQUIRE '"version"' '["locks"][0]'
  run -0 dlock acquire --json --slots 2 a b
  fits acquire
  assert_equal "$(told '[one["slot"] for one in d["locks"]]')" "[0, 0]"
}

# ended STATUS OUTCOME WORD…: dlock run ends so, and its result file says so.
ended() {
  run "-$1" dlock run --result-file result.json "${@:3}"
  output=$(cat result.json)
  fits result
  assert_equal "$(told 'd["outcome"]')" "$2"
}
@test "the result of each outcome is as the page and the schema say" {
  ended 3 child order-42 -- sh -c 'exit 3'
  page_is result "RESULT FILE" '"version"' '["locks"][0]'
  ended 143 child order-42 -- sh -c 'kill $$'
  ended 127 failed a -- no-such-command
  ended 126 failed a -- "$PWD"
  ended 124 time_up --ttl 2s -k 100ms --max-hold 300ms a -- sleep 60
  ended 0 child --once-per 1h a -- true
  ended 0 'done' --once-per 1h a -- true
  ended 0 child --and b --slots 2 a -- true
  run -0 dlock acquire held
  ended 75 busy -n held -- true
  dlock run --result-file result.json -w 1m held -- true 2>/dev/null 3>&- &
  eventually 10s waiter_shown held
  kill -TERM $!
  wait $! || true
  output=$(cat result.json)
  fits result
  assert_equal "$(told 'd["outcome"], d["exit_status"]')" "('signalled', 143)"
  rm locks.db
  ended 79 lost --ttl 2s -k 100ms lost -- sh -c 'dlock force-release --yes lost & sleep 60'
}

@test "what doctor and config print is as the page and the schema say" {
  run -0 dlock doctor --json # there is no file yet
  fits doctor
  DLOCK_URL=local://$PWD/locks
  run -0 dlock doctor --json
  fits doctor
  page_is doctor DOCTOR '"version"' '["identity"]' '["findings"][0]' '["identity"]["parts"][0]'
  mkdir -m 777 open
  run -1 dlock doctor --json --url "local://$PWD/open"
  fits doctor
  assert_equal "$(told 'd["ok"]')" False
  run -69 --separate-stderr dlock doctor --json --url redis://127.0.0.1:1 --connect-timeout 100ms
  assert_output ""
  run -0 env DLOCK_TTL=9s DLOCK_PASSWORD=secret dlock --prefix '' config --json
  fits config
  page_is config CONFIG '"version"' '["settings"][0]'
}

@test "the events of the page are those of the schema, and its line is such an object" {
  events=$(man_section "LOG EVENTS" "$page" | sed -n '/^waiting /,/^\.EE/p' | grep -oE '^[a-z_]+')
  assert_equal "$(sort <<<"$events")" "$(python3 -c 'import json, sys
print(*json.load(open(sys.argv[1]))["properties"]["event"]["enum"], sep="\n")' \
    "$PROJECT/packaging/schemas/log.schema.json" | sort)"
  example "LOG EVENTS" '"boot_ns"' "$page" | tr -d '\n' >page.json
  run -0 schema log page.json
  assert_output granted
  run -0 dlock -v --log-format json run order-42 -- true
  grep '"granted"' <<<"$output" >log.json
  same_members page.json log.json
}

# missing_members: those of a schema that the page does not name.
missing_members() {
  python3 - "$PROJECT"/packaging/schemas/*.json <<'P'
import json, re, sys
page = open(sys.argv[1].rsplit("/packaging/", 1)[0] + "/man/dlock-json.7").read().replace("\\-", "-")
for path in sys.argv[1:]:
    text = json.dumps(json.load(open(path)))
    for name in sorted(set(re.findall(r'"([a-z_0-9]+)": \{(?:"type"|"const"|"enum"|"descr|"\$ref|"minimum)', text))):
        if not re.search(rf"\b{name}\b", page) and name not in ("items", "granted", "vote", "waiter"):
            print(path.rsplit("/", 1)[1], name)
P
}
@test "every member of a schema is on the page" {
  run -0 missing_members
  assert_output ""
}

@test "what two schemas describe is one text, and each is a schema that says which it is" {
  run -0 schema schemas
  run -0 python3 - "$PROJECT"/packaging/schemas/*.json <<'P'
import json, sys
parts = {}
for path in sys.argv[1:]:
    schema, name = json.load(open(path)), path.rsplit("/", 1)[1].split(".")[0]
    assert schema["$id"] == f"urn:dlock:schema:{name}:1", path
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema", path
    if "hold" in schema.get("$defs", {}):
        parts[name] = schema["$defs"]["hold"]
print(len(sys.argv) - 1, *parts, parts["inspect"] == parts["result"])
P
  assert_output "6 inspect result True"
}

@test "the lines of the page for jq do what it says" {
  sed -n '/^\.SS Examples/,/^\.EE/p' "$PROJECT/man/$page" | sed "s/\\\\(aq/'/g; s/\\\\-/-/g" | grep -v '^\.' >lines
  run -0 grep -c jq lines
  assert_output 4
  run -0 sh -c "$(grep '^dlock inspect' lines)"
  assert_output ""
  run -0 dlock run deploy -- sh -c "$(grep '^dlock inspect' lines)"
  assert_output "$(id -un)@$(hostname)"
  run -0 sh -c "$(grep '^dlock list' lines)"
  assert_output ""
  run -0 dlock run old -- sh -c "$(grep '^dlock list' lines | sed 's/> 3600000/>= 0/')"
  assert_output old
  run -75 dlock run nightly -- env -u DLOCK_HOLDS sh -c "$(grep '^dlock run' lines | sed 's/-w 5s/-w 100ms/')"
  run -0 sh -c "$(grep '^jq.*end.json' lines)"
  assert_output --partial "held by $(id -un)@"
  printf '%s\n' '{"event":"lost","lock":"b"}' '{"event":"released","lock":"a"}' >dlock.log
  run -0 sh -c "$(grep 'dlock.log' lines)"
  assert_output --regexp '^ +1 b$'
}
