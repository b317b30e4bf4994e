#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: inspect and list tell the truth about every kind of lock.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server empty cli inspected terminal

@test "inspect shows the holder, the age of the hold, the lease left and the reason" {
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

@test "nested holds are counted and listed one by one" {
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


@test "of several holders one is named, with the number of the others" {
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

@test "the number of held slots and a holder are shown" {
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
  run -75 --separate-stderr "$DLOCK" run -n --slots 4 "$(fresh)" -- touch "$MARKER"
  assert_stderr_has 3
  assert_stderr_has 4
  let_go
}

@test "a writer is shown like any other single holder" {
  hold "$(fresh)" -x
  run -0 "$DLOCK" list
  assert_output --partial "$(fresh): held by $(us) $HOLDER (sh) for"
  lock_is "['mode']" exclusive
  lock_is "['owner_count']" 1
  let_go
}

@test "a kept lock is shown as kept, and force-release frees it without waiting for a holder" {
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
  lock_is "" "{\"name\": \"$(fresh)\", \"key\": \"dlock:$(fresh)\", \"state\": \"free\", \"waiting\": 0, \"line\": [], \"success\": null, \"frozen\": null, \"last\": null}"
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

@test "on a terminal list is a table and inspect has no long line, on a pipe both are as scripts know them" {
  local line
  hold a-table --reason "the nightly import of everything"
  play --columns 60 expect:a-table -- "$DLOCK" list
  played
  [[ $output == 'NAME     HOLDER '*$'\r\na-table  '"$(id -un)@$(hostname -s)"* ]] || fail "$output"
  play --columns 60 expect:everything -- "$DLOCK" inspect a-table
  played
  while IFS= read -r line; do [ "${#line}" -le 61 ] || [[ $line == *owner* ]] || fail "$line"; done <<<"$output"
  run -0 "$DLOCK" list
  assert_output --regexp '^a-table: held by .*: the nightly import of everything \[token [0-9]+\]$'
  run -0 "$DLOCK" inspect a-table
  assert_line -n 0 --regexp '^a-table: held by .*: the nightly import of everything \[token [0-9]+\]$'
  let_go
}

@test "a lock that a newer dlock wrote is refused before anything is changed" {
  r hset dlock:a owner 1 >/dev/null
  r hset 'dlock:holds:{dlock:a}' 'owner#1' '{"layout":2}' >/dev/null
  for words in 'run a -- true' 'run -n a -- true' 'inspect a'; do
    # shellcheck disable=SC2086  # words
    run -78 --separate-stderr "$DLOCK" $words
    assert_stderr_has "it was written by a newer dlock, layout 2; this dlock knows 1: upgrade dlock on this host"
  done
  [ "$(r dbsize)" = 2 ]
}
