#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: list chooses locks by their holder, prints names that a script can use, and metrics that
# Prometheus reads; inspect -q --waited says whether somebody waits. store_cases.bash tries these on
# every store.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server empty cli supervise ticker line

# record_of NAME HOST USER: says of the holder of this lock that it runs there.
record_of() {
  local id
  id=$(r hkeys "dlock:holds:{dlock:$1}")
  r hset "dlock:holds:{dlock:$1}" "$id" "$(r hget "dlock:holds:{dlock:$1}" "$id" |
    sed -E "s/\"host\":\"[^\"]*\"/\"host\":\"$2\"/; s/\"user\":\"[^\"]*\"/\"user\":\"$3\"/")" >/dev/null
}

@test "list --host, --user and --mine choose by the holder" {
  eval "$("$DLOCK" acquire mine theirs other)"
  record_of theirs db7.example alice
  record_of other "$(hostname)" alice
  r hset dlock:java 0b2d7e3c-5c0e-4b8a-9d0e-111111111111:7 1 >/dev/null
  names() { "$DLOCK" list --names "$@" | sort | xargs; }
  [ "$(names)" = "java mine other theirs" ]
  [ "$(names --mine)" = mine ]
  [ "$(names --host "$(hostname)")" = "mine other" ]
  [ "$(names --user alice)" = "other theirs" ]
  [ "$(names --user alice --host db7.example)" = theirs ]
  [ "$(names --user alice 'o*')" = other ]
  [ "$(names --user bob)" = "" ]
  [ "$("$DLOCK" list --user alice --json | json 'sorted(l["name"] for l in d["locks"])')" = '["other", "theirs"]' ]
  "$DLOCK" release mine theirs other
}

@test "list --host, --user and --mine leave out what is only frozen, as a freezer holds nothing" {
  eval "$("$DLOCK" acquire held)"
  "$DLOCK" freeze --for 1h held
  "$DLOCK" freeze --for 1h idle
  "$DLOCK" run --min-hold 1h kept -- true
  names() { "$DLOCK" list --names "$@" | sort | xargs; }
  [ "$(names)" = "held idle kept" ]
  [ "$(names --mine)" = "held kept" ]
  [ "$(names --host "$(hostname)")" = "held kept" ]
  [ "$(names --user "$(id -un)")" = "held kept" ]
  "$DLOCK" release held
  [ "$(names --mine)" = kept ]
  [ "$(names)" = "held idle kept" ]
}

@test "list --names is for xargs: with -0 every name arrives whole" {
  for name in 'two words' "a'quote" plain; do r set "dlock:$name" x >/dev/null; done
  run -0 bash -c '"$DLOCK" list --names --null | xargs -0 -n 1 printf "<%s>\n" | sort'
  assert_output $'<a\'quote>\n<plain>\n<two words>'
  run -0 bash -c '"$DLOCK" list --names -0 "pl*" | tr "\0" !'
  assert_output 'plain!'
  run -0 bash -c '"$DLOCK" list --names "pl*"'
  assert_output plain
}

@test "list and inspect refuse options that contradict each other: 64" {
  while read -r words; do
    # shellcheck disable=SC2086  # split on purpose
    run -64 --separate-stderr "$DLOCK" $words
    [ "$output" = "" ]
  done <<'END'
list --mine --host h
list --mine --user u
list --json --names
list --names --format text
list --json --format json
list --null
list --format xml
list --splay 1s
inspect --waited a
END
}

@test "a store without a line does not know who waits: inspect --waited is refused, 64" {
  mkdir "$T/locks"
  export DLOCK_URL=local://$T/locks
  run -64 --separate-stderr "$DLOCK" inspect -q --waited a
  assert_stderr_has "does not support a line of waiters (--waited)"
  hold a
  run -0 "$DLOCK" list --format prometheus
  assert_line 'dlock_held{lock="a"} 1'
  refute_output --partial dlock_waiters
  let_go
}

@test "list --format prometheus: on a terminal a name cannot move the cursor" {
  r set $'dlock:\e]0;title\a' x >/dev/null
  run -0 script -qec "$DLOCK list --format prometheus" /dev/null
  assert_output --partial 'dlock_held{lock="\x1b]0;title\x07"} 1'
}

@test "list --format prometheus: Prometheus reads it, whatever the names are" {
  r set 'dlock:a"} 9' x >/dev/null
  r set $'dlock:back\\slash' x >/dev/null
  r set $'dlock:\xff' x >/dev/null
  hold held
  "$DLOCK" run --min-hold 1m kept -- true
  "$DLOCK" list --format prometheus >"$T/metrics"
  # The Python of Debian has this library.
  run -0 /usr/bin/python3 - "$T/metrics" <<'END'
import sys
from prometheus_client.parser import text_string_to_metric_families
families = {f.name: f for f in text_string_to_metric_families(open(sys.argv[1], encoding="utf-8").read())}
assert set(families) == {"dlock_up", "dlock_held", "dlock_holders", "dlock_waiters", "dlock_frozen",
                         "dlock_hold_age_seconds", "dlock_lease_left_seconds"}, families
assert all(f.type == "gauge" and f.documentation for f in families.values())
held = {s.labels["lock"]: s.value for s in families["dlock_held"].samples}
assert held == {'a"} 9': 1, "back\\slash": 1, "%ff": 1, "held": 1, "kept": 0}, held
lease = {s.labels["lock"]: s.value for s in families["dlock_lease_left_seconds"].samples}
assert lease['a"} 9'] == float("inf") and 0 < lease["held"] <= 30, lease
END
  let_go
}

@test "list --format prometheus says that the store does not answer: dlock_up 0, and 69" {
  run -69 --separate-stderr "$DLOCK" --url redis+unix:///nowhere/at-all list --format prometheus
  assert_line 'dlock_up 0'
  refute_output --partial 'dlock_held'
  assert_stderr_has "cannot"
}

@test "inspect -q --waited: 0 while a run waits, 1 before and after" {
  hold a
  run -1 "$DLOCK" inspect -q --waited a
  stand a 1
  run -0 "$DLOCK" inspect -q --waited a
  assert_output ""
  run -0 "$DLOCK" inspect -q --waited b a
  let_go
  eventually 10s entered 1
  run -1 "$DLOCK" inspect -q --waited a
}

@test "--splay: the command runs after the delay, which -v and the log tell" {
  run -0 --separate-stderr "$DLOCK" run --log-format json -v --splay 1s a -- true
  [ "$(grep -c '"event":"splay"' <<<"$stderr")" = 1 ]
  grep '"event":"splay"' <<<"$stderr" | python3 -c '
import json, sys
event = json.load(sys.stdin)
assert 0 <= event["delay_ms"] <= 1000 and event["lock"] == "a", event'
  DLOCK_SPLAY=100ms run -0 --separate-stderr "$DLOCK" run -v a -- true
  assert_stderr_has '(--splay 100ms)'
}

@test "--splay: a signal ends it at once, the store is not asked, and a nested run has none" {
  dlock_run a -v --splay 1d a -- touch "$T/ran"
  eventually 10s grep -q 'beginning in' "$T/a.err"
  kill -TERM "$a_pid"
  ends 10s a "signal 15"
  [ ! -e "$T/ran" ]
  run -0 timeout 20 "$DLOCK" run a -- "$DLOCK" run --splay 1d a -- true
}
