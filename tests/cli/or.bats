#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock run --or takes one of several names, the first that is free, and never two; the command
# learns which; who waits, waits for all of them and starves at none of them.
# MODES_FULL=1: the crowds run for a minute.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154  # '…' is for inner shells; every test is a shell of its own; *_pid are set by spawn
load ../support/suite
suite server empty section line modes pool

# name_of WHO: prints the name that the command of WHO got.
name_of() { of "$1" DLOCK_NAME; }

@test "one of three is held: the command gets its name, owner and token, and the others stay free" {
  one_of_several
  assert_no_keys
}
@test "one of three is held, in a directory" {
  in_a_directory
  one_of_several
}
@test "one of three is held, in SQLite" {
  export DLOCK_URL=sqlite://$T/locks.db
  one_of_several
}

@test "it begins with any of them, so all are used alike" {
  local i
  for ((i = 0; i < 24; i++)); do "$DLOCK" run --or b --or c a -- sh -c 'echo $DLOCK_NAME'; done >"$T/names"
  [ "$(sort -u "$T/names" | xargs)" = "a b c" ] || fail "$(sort "$T/names" | uniq -c)"
}

@test "a waiter stands in all lines, and leaves the others when it gets one" {
  enter a a
  enter b b
  come w -w 60 --or b a
  eventually 20s in_line_are a 1
  in_line_are b 1
  come after -w 60 a
  eventually 20s in_line_are a 2
  go b
  enters w
  [ "$(name_of w)" = b ]
  in_line_are b 0
  eventually 5s in_line_are a 1
  outside after
  go a
  enters after
  go after w
  assert_no_keys
}

@test "a waiter that gives up leaves all lines" {
  enter a a
  enter b b
  come w --or b a
  eventually 20s in_line_are b 1
  kill -TERM "$w_pid"
  ends 10s w "signal 15"
  in_line_are a 0
  in_line_are b 0
  go a b
}

@test "-n with all of them busy: 75, and the message tells one holder and how many others there are" {
  enter a a
  enter b b
  refused 75 '^dlock: "[ab]" and 1 other are busy: held by .*pid' -n --or b a
  enter c c
  refused 75 '"[abc]" and 2 others are busy' -n --or b --or c a
  refused 7 'are busy' -n -E 7 --or b --or c a
  go a
  run -0 "$DLOCK" run -n --or b --or c a -- sh -c 'echo "$DLOCK_NAME"'
  assert_output a
  go b c
}

@test "a waiter says for what it waits, and who holds that" {
  enter a --reason 'weekly report' a
  enter b --reason 'weekly report' b
  come w --or b a
  eventually 10s grep -qE 'waiting [0-9]+s for "[ab]" or 1 other, 1st of 1, held by .*weekly report' "$T/w.err"
  go a b
  enters w
  eventually 5s grep -qE '^dlock: acquired "[ab]" after' "$T/w.err"
  go w
}

@test "a nested run of any of them, or of one of them, joins" {
  run -0 "$DLOCK" run b -- "$DLOCK" run -n --or b --or c a -- sh -c 'echo "$DLOCK_NAME"'
  assert_output b
  run -0 "$DLOCK" run --or b --or c a -- sh -c 'outer=$DLOCK_NAME-$DLOCK_TOKEN
    "$DLOCK" run -n "$DLOCK_NAME" -- sh -c "[ \$DLOCK_NAME-\$DLOCK_TOKEN = $outer ]" &&
    "$DLOCK" run -n --or c --or a b -- sh -c "[ \$DLOCK_NAME-\$DLOCK_TOKEN = $outer ]"'
  assert_no_keys
}

@test "it is lost, revoked and released as a lock of that name alone" {
  enter x --ttl 3s --or b a
  run -0 timeout 30 "$DLOCK" force-release --yes "$(name_of x)"
  ends 20s x "exit 79"
  grep -qE "^dlock: \"$(name_of x)\" was revoked by " "$T/x.err" || fail "$(cat "$T/x.err")"
  enter y --ttl 3s --or b a
  r del "dlock:$(name_of y)"
  ends 20s y "exit 79"
  grep -q "lost \"$(name_of y)\": .*; stopping" "$T/y.err" || fail "$(cat "$T/y.err")"
  assert_no_keys
}

@test "a frozen name is passed over: a broken one is taken out of service" {
  run -0 "$DLOCK" freeze --for 1h --reason broken a
  for _ in 1 2 3 4 5 6; do
    run -0 "$DLOCK" run -n --or b a -- sh -c 'echo "$DLOCK_NAME"'
    assert_output b
  done
  run -0 "$DLOCK" unfreeze a
}

@test "modes, --min-hold and --max-waiters are those of a single name" {
  enter r1 -s --or b a
  run -0 "$DLOCK" run -n -s "$(name_of r1)" -- true
  enter r2 -x --or b a
  [ "$(name_of r2)" != "$(name_of r1)" ]
  refused 75 'are busy \(wanted to write\)' -n -x --or b a
  go r1 r2
  run -0 "$DLOCK" run --slots 1 --or b a -- sh -c 'echo "$DLOCK_NAME $DLOCK_SLOT"'
  assert_output --regexp '^[ab] 0$'
  run -0 "$DLOCK" run --min-hold 1h --or b a -- sh -c 'echo "$DLOCK_NAME"'
  kept=$output
  run -0 "$DLOCK" run -n --or b a -- sh -c 'echo "$DLOCK_NAME"'
  [ "$output" != "$kept" ]
  enter x --or b a
  queue w "$([ "$kept" = a ] && echo b || echo a)"
  come one --max-waiters 1 --or b a
  eventually 20s in_line_are "$kept" 1
  refused 75 '1 waiting' --max-waiters 1 --or b a
  kill -TERM "$one_pid"
  go x
  enters w
  go w
  run -0 "$DLOCK" force-release --yes "$kept"
}

@test "the log, the result file, the metrics and --notify name the one that the run got" {
  enter a a
  mkdir "$T/metrics"
  run -0 --separate-stderr "$DLOCK" run --log-format json -v --result-file "$T/result" --metrics-dir "$T/metrics" \
    --max-hold 100ms --notify 'echo "$DLOCK_NAME" >"'"$T"'/told"' --notify-on time_up -E 0 --or b a -- sh -c 'trap "exit 0" TERM; sleep 9 & wait' || true
  run -0 jq -r .lock "$T/result"
  assert_output b
  run -0 jq -r '.locks[].lock // .locks[].name' "$T/result"
  assert_output b
  [ "$(cat "$T/told")" = b ]
  [ -e "$T/metrics/dlock_b.prom" ] && [ ! -e "$T/metrics/dlock_a.prom" ]
  go a
}

@test "a name that is given twice counts once" {
  local url
  for url in "$DLOCK_URL" "sqlite://$T/twice.db" "local://$T/twice"; do
    DLOCK_URL=$url run -0 "$DLOCK" run --or a --or a a -- sh -c 'echo "$DLOCK_NAME"; "$DLOCK" run -n a -- echo nested'
    assert_output $'a\nnested'
  done
  enter a a
  refused 75 '^dlock: "a" is busy: ' -n --or a a
  run -0 "$DLOCK" run -n --or b --or b --or a a -- sh -c 'echo "$DLOCK_NAME"'
  assert_output b
  enter b b
  refused 75 '"[ab]" and 1 other are busy' -n --or b --or b a
  go a b
  assert_no_keys
}

@test "what cannot be meant is refused before anything runs: 64" {
  refused 64 'and --or contradict each other' --and c --or b a
  refused 64 '--once-per and --or contradict each other' --once-per 1h --or a a
  refused 64 '--once-per and --or contradict each other' --once-per 1h --or b a
  refused 64 '--supersede and --or contradict each other' --supersede waiting --or b a
  local more=()
  mapfile -t more < <(printf -- '--or\nn%s\n' {1..16})
  refused 64 '17 lock names were given: at most 16' "${more[@]}" n
  refused 64 'lock name' --or '' a
  run -64 --separate-stderr "$DLOCK" acquire --or b a
  run -0 "$DLOCK" run "${more[@]:0:30}" n -- sh -c 'echo "$DLOCK_NAME" | wc -w'
  assert_output 1
  assert_no_keys
}

@test "sixteen for one of four: never two on one, none starves, all four are used" {
  crowd pool
  assert_no_keys
}
@test "sixteen for one of four, in SQLite" {
  DLOCK_URL=sqlite://$T/locks.db REDIS_SOCKET='' crowd pool
}
@test "sixteen for one of four, in a directory" {
  in_a_directory
  local -x REDIS_SOCKET=
  crowd pool-without-line
}
# bats test_tags=nightly
@test "sixteen for one of four, beside runs that want one of these or two" {
  crowd pool-and-others
  assert_no_keys
}
# bats test_tags=nightly
@test "sixteen that all want the first one are found by the check" { wrong_crowd 'pool!'; }
