#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: inspect and list tell the truth about every kind of lock; force-release takes a lock from its
# holder without letting two run, and from nobody else.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server empty cli

java=6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57
# lock_is EXPRESSION WANT [NAME]: of the first lock in inspect --json
lock_is() {
  local got
  got=$("$DLOCK" inspect --json "${3:-$(fresh)}" | json "d['locks'][0]$1")
  [ "$got" = "$2" ] || fail "$1 is $got, not $2"
}

@test "inspect says who holds a lock, since when, for how long and why" {
  hold "$(fresh)" --reason 'nightly [import]' --ttl 20s
  run -0 --separate-stderr "$DLOCK" inspect "$(fresh)"
  assert_no_stderr
  assert_output --partial "$(fresh)"
  assert_output --partial "$(id -un)@$(hostname) pid $HOLDER"
  assert_output --partial 'nightly [import]'
  assert_output --regexp 'lease (1[0-9]|20|19\.[0-9]|1[0-9]\.[0-9])s left'
  assert_output --partial "$(r hkeys "dlock:$(fresh)")"
  assert_output --partial "$(r get "redisson_lock_token:{dlock:$(fresh)}")"
  assert_output --partial '"sh"'
  let_go
}

@test "inspect --json has the documented members" {
  hold "$(fresh)" --reason why --ttl 20s
  "$DLOCK" inspect --json "$(fresh)" >"$BATS_TEST_TMPDIR/json"
  run -0 python3 - "$BATS_TEST_TMPDIR/json" "$(fresh)" "$HOLDER" "$(r hkeys "dlock:$(fresh)")" \
    "$(r get "redisson_lock_token:{dlock:$(fresh)}")" <<'END'
import getpass, json, pwd, os, socket, sys, time
file, name, pid, owner, token = sys.argv[1:]
d = json.load(open(file))
assert list(d) == ["schema", "locks"] and d["schema"] == 1 and len(d["locks"]) == 1, d
lock = d["locks"][0]
assert set(lock) >= {"name", "key", "state", "type", "owners", "owner_count", "lease_left_ms",
                     "token", "revoked_by", "holds"}, lock
assert lock["name"] == name and lock["key"] == "dlock:" + name and lock["state"] == "held"
assert lock["type"] == "hash" and lock["mode"] == "plain" and lock["slots"] is None
assert lock["owners"] == [{"id": owner, "count": "1", "lease_left_ms": None}]
assert lock["owner_count"] == 1 and 10000 < lock["lease_left_ms"] <= 20000
assert lock["token"] == int(token) and lock["revoked_by"] is None
hold, = lock["holds"]
assert set(hold) >= {"id", "host", "pid", "user", "command", "reason", "since_ms", "age_ms", "token", "ttl_ms"}
assert hold["id"].startswith(owner + "#") and hold["host"] == socket.gethostname()
assert hold["pid"] == int(pid) and hold["user"] == pwd.getpwuid(os.geteuid()).pw_name
assert hold["command"] == "sh" and hold["reason"] == "why" and hold["ttl_ms"] == 20000
assert hold["mode"] == "plain" and hold["slot"] is None and hold["kept"] is False
assert hold["token"] == int(token) and abs(hold["since_ms"] - time.time() * 1000) < 30000
assert 0 <= hold["age_ms"] < 30000
END
  let_go
}

@test "nested holds are counted and told one by one" {
  "$DLOCK" run --reason outer "$(fresh)" -- "$DLOCK" run --reason inner "$(fresh)" -- sh -c '
    "$DLOCK" inspect --json "$DLOCK_NAME" >"$0/json"; "$DLOCK" inspect "$DLOCK_NAME" >"$0/text"' "$BATS_TEST_TMPDIR"
  run -0 json 'd["locks"][0]["owners"][0]["count"]' <"$BATS_TEST_TMPDIR/json"
  assert_output 2
  run -0 json 'sorted(h["reason"] for h in d["locks"][0]["holds"])' <"$BATS_TEST_TMPDIR/json"
  assert_output '["inner", "outer"]'
  run -0 cat "$BATS_TEST_TMPDIR/text"
  assert_output --partial 'holds 2'
  assert_no_keys
}

@test "a lock of a Java service is shown, although it left no notes" {
  r hset "dlock:$(fresh)" "$java" 2 >/dev/null
  r pexpire "dlock:$(fresh)" 25000 >/dev/null
  run -0 "$DLOCK" inspect "$(fresh)"
  assert_output --partial "$java"
  assert_output --regexp 'lease 2[0-9](\.[0-9])?s left'
  lock_is "['state']" held
  lock_is "['owners']" "[{\"id\": \"$java\", \"count\": \"2\", \"lease_left_ms\": null}]"
  lock_is "['holds']" '[]'
  lock_is "['token']" null
  run -75 --separate-stderr "$DLOCK" run -n "$(fresh)" -- touch "$MARKER"
  assert_stderr_has "$java"
}

@test "a foreign lock and one without a lease are shown as what they are" {
  r set "dlock:$(fresh)" token px 20000 >/dev/null
  lock_is "['state']" foreign
  lock_is "['type']" string
  lock_is "['mode']" null
  lock_is "['owners']" '[]'
  run -0 "$DLOCK" inspect "$(fresh)"
  assert_output --partial foreign
  assert_output --partial string
  r hset dlock:eternal "$java" 1 >/dev/null
  lock_is "['lease_left_ms']" null eternal
  run -0 "$DLOCK" inspect eternal
  assert_output --partial 'without expiry'
}

# more [OPTION…]: another that holds it, from its own shell.
more() {
  env -u DLOCK_HOLDS "$DLOCK" acquire "$@" "$(fresh)"
}
us() { printf %s "$(id -un)@$(hostname) pid"; }

@test "who holds it beside others is told, with the number of the others" {
  hold "$(fresh)" -s --ttl 20s
  run -0 "$DLOCK" list
  assert_output --regexp "^$(fresh): held shared by $(us) $HOLDER \\(sh\\) for [^ ]+, lease [^ ]+ left \\[token"
  more -s --ttl 60s >/dev/null
  run -0 "$DLOCK" list
  assert_output --regexp "held shared by $(us) $HOLDER \\(sh\\) for [^ ]+ and 1 other, lease [0-9.]+s left"
  more -s >/dev/null
  run -0 "$DLOCK" inspect "$(fresh)"
  assert_line --index 0 --partial 'and 2 others, '
  assert_output --regexp 'hold by .* command "acquire", shared, lease 5[0-9][^ ]* left, owner '
  assert_output --regexp 'hold by .* command "sh", shared, lease .* left, owner '
  assert_equal "${#lines[@]}" 4 # one line for each holder
  lock_is "['mode']" shared
  lock_is "['slots']" null
  lock_is "['owner_count']" 3
  lock_is "['holds'][0]['mode']" shared
  let_go
}

@test "how many of the slots are held is told, and by whom" {
  more --slots 3 >/dev/null
  hold "$(fresh)" --slots 3 --reason why
  run -0 "$DLOCK" list
  assert_output --regexp "^$(fresh): 2 of 3 slots held, by $(us) [0-9]+ \\([a-z]+\\) for [^ ]+ and 1 other, lease .* left"
  run -0 "$DLOCK" inspect "$(fresh)"
  assert_output --regexp 'command "sh", slot 1'
  lock_is "['mode']" slots
  lock_is "['slots']" 3
  lock_is "['holds'].__len__()" 2
  run -0 json 'sorted(h["slot"] for h in d["locks"][0]["holds"])' < <("$DLOCK" inspect --json "$(fresh)")
  assert_output '[0, 1]'
  more --slots 3 >/dev/null
  run -75 --separate-stderr "$DLOCK" run -n --slots 3 "$(fresh)" -- touch "$MARKER"
  assert_stderr_has '3 of 3 slots held, by'
  run -64 --separate-stderr "$DLOCK" run -n --slots 4 "$(fresh)" -- touch "$MARKER"
  assert_stderr_has 3
  assert_stderr_has 4
  let_go
}

@test "a writer is told like any that holds it alone" {
  hold "$(fresh)" -x
  run -0 "$DLOCK" list
  assert_output --partial "$(fresh): held by $(us) $HOLDER (sh) for"
  lock_is "['mode']" exclusive
  lock_is "['owner_count']" 1
  let_go
}

@test "what is only kept is told, and force-release needs to ask nobody for it" {
  "$DLOCK" run --min-hold 100s "$(fresh)" -- true
  run -0 "$DLOCK" list
  assert_output --regexp "^$(fresh): kept by $(us) [0-9]+ \\([a-z]+\\) for (1m|9).* more \\(--min-hold\\)"
  lock_is "['holds'][0]['kept']" true
  run -75 --separate-stderr "$DLOCK" run -n "$(fresh)" -- touch "$MARKER"
  assert_stderr_has 'is busy: kept by'
  run -0 --separate-stderr timeout 20 "$DLOCK" force-release --yes "$(fresh)"
  assert_one_line
  assert_stderr_has 'deleted'
  refute_stderr_has 'beside'
  assert_no_keys
}

@test "waiting for ourselves is refused at once, and explained: 75, without -n" {
  for pair in '-s -x' '-s --slots=3' '--slots=3 -s' '--slots=3 -x' '-x --slots=3'; do
    # shellcheck disable=SC2086  # two words
    set -- $pair
    run -75 --separate-stderr timeout 10 "$DLOCK" run "$1" "$(fresh)" -- "$DLOCK" run "$2" "$(fresh)" -- touch "$MARKER"
    assert_one_line
    assert_stderr_has "\"$(fresh)\" is held "
    assert_stderr_has 'by an ancestor of this run: a'
    assert_stderr_has 'would deadlock'
  done
  run -9 "$DLOCK" run -s "$(fresh)" -- "$DLOCK" run -E 9 --and b "$(fresh)" -- touch "$MARKER"
  assert_not_started
  assert_no_keys
}

@test "a free lock is free, and several names are answered in their order" {
  run -0 "$DLOCK" inspect "$(fresh)"
  assert_output "$(fresh): free"
  lock_is "" "{\"name\": \"$(fresh)\", \"key\": \"dlock:$(fresh)\", \"state\": \"free\", \"waiting\": 0, \"line\": [], \"success\": null}"
  r set dlock:b x >/dev/null
  run -0 "$DLOCK" inspect c b a
  assert_line --index 0 'c: free'
  assert_line --index 1 --partial 'b: '
  assert_line --index 2 'a: free'
}

@test "inspect -q answers by its status: 0 held, 1 free" {
  r set dlock:taken x >/dev/null
  run -0 --separate-stderr "$DLOCK" inspect -q taken
  assert_output ""
  assert_no_stderr
  run -1 --separate-stderr "$DLOCK" inspect -q "$(fresh)"
  assert_output ""
  assert_no_stderr
  run -1 "$DLOCK" inspect -q taken "$(fresh)"
  run -0 "$DLOCK" -q inspect taken taken
}

@test "inspect changes nothing" {
  hold "$(fresh)"
  r set dlock:other x >/dev/null
  local before
  before=$(r keys '*' | sort)
  "$DLOCK" inspect "$(fresh)" other none >/dev/null
  "$DLOCK" list >/dev/null
  [ "$(r keys '*' | sort)" = "$before" ]
  let_go
}

@test "list shows every lock of the prefix and never a side key" {
  hold "$(fresh)" --reason 'why not'
  r set dlock:string x >/dev/null
  r hset dlock:java "$java" 1 >/dev/null
  r set elsewhere x >/dev/null
  r set 'redisson_lock_token:{dlock:gone}' 5 >/dev/null
  r hset 'dlock:revoked:{dlock:gone}' owner x by y >/dev/null
  r hset 'dlock:holds:{dlock:gone}' x y >/dev/null
  r hset 'dlock:holds:dlock:a{b}' x y >/dev/null
  run -0 --separate-stderr "$DLOCK" list
  assert_no_stderr
  [ "${#lines[@]}" = 3 ]
  assert_line --partial "$(fresh): held by $(id -un)@$(hostname) pid $HOLDER"
  assert_line --partial 'why not'
  assert_line --partial 'string: held by a foreign lock'
  assert_line --partial "java: held by $java"
  let_go
}

@test "list takes a glob, and prefixes are taken literally" {
  local name
  for name in job-1 job-2 other 'a[b' 'é'; do r set "dlock:$name" x >/dev/null; done
  run -0 bash -c '"$DLOCK" list "job-*" | cut -d: -f1 | sort | tr "\n" " "'
  assert_output 'job-1 job-2 '
  run -0 bash -c '"$DLOCK" list "job-[2-9]" | cut -d: -f1'
  assert_output job-2
  run -0 bash -c '"$DLOCK" list "?????" | cut -d: -f1 | sort | tr "\n" " "'
  assert_output 'job-1 job-2 other '
  run -0 "$DLOCK" list nothing
  assert_output ""
  r set 'p*:one' x >/dev/null
  r set 'pq:two' x >/dev/null
  run -0 bash -c '"$DLOCK" --prefix "p*:" list | cut -d: -f1'
  assert_output one
}

@test "list shows every one of a thousand locks once" {
  r eval 'for i = 1, 1000 do redis.call("SET", "dlock:n" .. i, "x") end' 0 >/dev/null
  run -0 bash -c '"$DLOCK" list "n*" | sort -u | wc -l; "$DLOCK" list "n*" | wc -l'
  assert_output $'1000\n1000'
  "$DLOCK" list --json 'n*' >"$BATS_TEST_TMPDIR/json"
  run -0 json 'len(d["locks"])' <"$BATS_TEST_TMPDIR/json"
  assert_output 1000
}

@test "list never sends KEYS" {
  r set dlock:one x >/dev/null
  r config resetstat >/dev/null
  "$DLOCK" list >/dev/null
  run r info commandstats
  refute_output --partial cmdstat_keys
  assert_output --partial cmdstat_scan
}

@test "list --json has the members of inspect --json" {
  run -0 "$DLOCK" list --json
  run -0 json 'd' <<<"$output"
  assert_output '{"schema": 1, "locks": []}'
  r set "dlock:$(fresh)" x >/dev/null
  diff <("$DLOCK" list --json) <("$DLOCK" inspect --json "$(fresh)")
}

@test "P16: a reader that leaves early is no failure of list" {
  r eval 'for i = 1, 3000 do redis.call("SET", "dlock:n" .. i, "x") end' 0 >/dev/null
  run -0 --separate-stderr bash -c '"$DLOCK" list | head -1'
  assert_no_stderr
}

# How the holder ended:
holder_ended() { # STATUS
  local rc=0
  wait "$HOLDER" || rc=$?
  HOLDER=''
  [ "$rc" = "$1" ] || fail "the holder ended with $rc: $(cat "$BATS_TEST_TMPDIR/holder.err")"
}

@test "force-release makes the holder stop its command and give the lock back" {
  hold "$(fresh)" --ttl 9s --reason 'stuck import'
  local pid=$HOLDER child
  child=$(cat "$BATS_TEST_TMPDIR/held")
  run -0 --separate-stderr timeout 20 "$DLOCK" force-release --yes "$(fresh)"
  assert_output ""
  # A line before it, if the holder took longer than half a second.
  [[ ${stderr##*$'\n'} == "dlock: released \"$(fresh)\" after "*"pid $pid "*'stuck import' ]] || fail "$stderr"
  gone "$child"
  key_gone "$(fresh)"
  holder_ended 79
  run -0 cat "$BATS_TEST_TMPDIR/holder.err"
  assert_output --partial revoked
  assert_output --partial "$(id -un)@$(hostname)"
  assert_no_keys
}

@test "a revoked lock shows by whom, and is not free before its holder is gone" {
  "$DLOCK" run --ttl 30s "$(fresh)" -- sh -c 'trap "" TERM; touch "$0/held"
    until [ -e "$0/go" ]; do sleep 0.02; done' "$BATS_TEST_TMPDIR" 2>"$BATS_TEST_TMPDIR/holder.err" 3>&- &
  HOLDER=$!
  eventually 10s test -e "$BATS_TEST_TMPDIR/held"
  timeout 40 "$DLOCK" force-release --yes "$(fresh)" 2>/dev/null 3>&- &
  local releaser=$!
  eventually 5s revoked_by_us
  run -75 "$DLOCK" run -n "$(fresh)" -- touch "$MARKER"
  eventually 20s file_has "$BATS_TEST_TMPDIR/holder.err" revoked
  run -75 "$DLOCK" run -n "$(fresh)" -- touch "$MARKER"
  touch "$BATS_TEST_TMPDIR/go"
  wait "$releaser"
  holder_ended 79
}
revoked_by_us() { [ "$("$DLOCK" inspect --json "$(fresh)" | json 'd["locks"][0].get("revoked_by")')" = "$(id -un)@$(hostname)" ]; }

@test "a holder that is gone loses a revoked lock when its lease ends" {
  hold "$(fresh)" --ttl 5s
  local child
  child=$(cat "$BATS_TEST_TMPDIR/held")
  kill -KILL "$HOLDER"
  run -0 timeout 20 "$DLOCK" force-release --yes "$(fresh)"
  key_gone "$(fresh)"
  kill -KILL "$child" 2>/dev/null || true
  run -0 "$DLOCK" run -n "$(fresh)" -- true
}

@test "K10: --if-owner and --if-token refuse when the holder is another: 75, and nothing is touched" {
  hold "$(fresh)" --ttl 9s
  local owner token
  owner=$(r hkeys "dlock:$(fresh)")
  token=$(r get "redisson_lock_token:{dlock:$(fresh)}")
  for option in "--if-owner=$java" "--if-token=$((token - 1))" "--if-owner=${owner%?}" "--if-owner=*"; do
    run -75 --separate-stderr "$DLOCK" force-release --yes "$option" "$(fresh)"
    assert_one_line
    assert_stderr_has "pid $HOLDER"
    case $option in
      --if-owner=*) assert_stderr_has "; owner $owner, not ${option#*=}" ;;
      *) assert_stderr_has "; token $token, not ${option#*=}" ;;
    esac
    run -75 "$DLOCK" force-release --yes --now "$option" "$(fresh)"
  done
  run -75 "$DLOCK" force-release --yes "--if-owner=$owner" --if-token 1 "$(fresh)"
  # What is empty is a variable that was not set, and no condition would be met by accident.
  for option in --if-owner --if-token; do
    run -64 "$DLOCK" force-release --yes "$option" '' "$(fresh)"
    run -64 "$DLOCK" force-release --yes "$option=" "$(fresh)"
  done
  run -64 "$DLOCK" force-release --yes --if-token many "$(fresh)"
  lock_is "['revoked_by']" null
  alive "$HOLDER"
  run -0 timeout 20 "$DLOCK" force-release --yes --if-owner "$owner" --if-token "$token" "$(fresh)"
  holder_ended 79
}

@test "force-release takes a lock from all who hold it, and waits for each" {
  hold "$(fresh)" -s --ttl 9s
  local first=$HOLDER second rc=0
  mv "$BATS_TEST_TMPDIR/held" "$BATS_TEST_TMPDIR/first"
  hold "$(fresh)" -s --ttl 9s
  second=$HOLDER
  more -s --ttl 4s >/dev/null # looks for nothing: its lease has to end
  run -0 --separate-stderr timeout 20 "$DLOCK" force-release --yes "$(fresh)"
  # shellcheck disable=SC2154  # set by run
  assert_regex "$stderr" "^dlock: waiting for $(us) [0-9]+ and 2 others to stop: at most [0-9.]+s"$'\n'"dlock: released [^"$'\n'"]+and 2 others[^"$'\n'"]+\$"
  key_gone "$(fresh)"
  gone "$(cat "$BATS_TEST_TMPDIR/first")"
  gone "$(cat "$BATS_TEST_TMPDIR/held")"
  wait "$first" || rc=$?
  [ "$rc" = 79 ]
  HOLDER=$second
  holder_ended 79
  eventually 10s assert_no_keys # the notes of the dead end by themselves
}

@test "--if-owner takes it from one of those who hold it, and from nobody else" {
  local owner
  hold "$(fresh)" --slots 2 --ttl 20s
  owner=$(more --slots 2 --ttl 5s | sed -n 's/^export DLOCK_OWNER=//p')
  run -0 timeout 20 "$DLOCK" force-release --yes --if-owner "$owner" "$(fresh)"
  alive "$HOLDER"
  lock_is "['owner_count']" 1
  let_go
  run -1 "$DLOCK" inspect -q "$(fresh)"
}

@test "--now deletes at once, says that two may run, and the holder learns of it" {
  hold "$(fresh)" --ttl 9s
  run -0 --separate-stderr timeout 10 "$DLOCK" force-release --now --yes "$(fresh)"
  assert_one_line
  assert_stderr_has "pid $HOLDER"
  assert_stderr_has beside
  key_gone "$(fresh)"
  run -0 "$DLOCK" run -n "$(fresh)" -- true
  holder_ended 79
  assert_no_keys
}

@test "--now wakes who waits" {
  local waiter before round
  # Who is not woken looks again 2.5 to 3 s after its last look: on a busy machine once is enough.
  for round in 1 2 3; do
    r hset "dlock:$(fresh)" "$java" 1 >/dev/null
    timeout 10 "$DLOCK" run "$(fresh)" -- touch "$MARKER" 3>&- &
    waiter=$!
    eventually 5s waiter_there
    before=${EPOCHREALTIME/./}
    run -0 "$DLOCK" force-release --now --yes "$(fresh)"
    wait "$waiter"
    if [ $((${EPOCHREALTIME/./} - before)) -lt 2000000 ]; then return; fi
  done
  fail "not woken in $round times"
}
waiter_there() { [ "$(r pubsub numsub "redisson_lock__channel:{dlock:$(fresh)}" | tail -1)" -gt 0 ]; }

@test "what is not dlock's can only be taken away with --now" {
  r hset dlock:java "$java" 1 >/dev/null
  r set dlock:string x >/dev/null
  for name in java string; do
    run -75 --separate-stderr "$DLOCK" force-release --yes "$name"
    assert_one_line
    assert_stderr_has --now
    key_exists "$name"
    run -0 "$DLOCK" force-release --yes --now "$name"
    key_gone "$name"
  done
}

@test "without a terminal it needs --yes" {
  r set "dlock:$(fresh)" x >/dev/null
  for options in '' --now; do
    # shellcheck disable=SC2086
    run -64 --separate-stderr bash -c '"$DLOCK" force-release '"$options"' "$1" </dev/null' - "$(fresh)"
    assert_one_line
    assert_stderr_has --yes
  done
  key_exists "$(fresh)"
}

@test "where nothing is held, nothing is released: 1" {
  run -1 --separate-stderr "$DLOCK" force-release --yes "$(fresh)"
  assert_one_line
  assert_stderr_has "$(fresh)"
  run -1 "$DLOCK" force-release --yes --now "$(fresh)"
  [ "$(r dbsize)" = 0 ]
}
