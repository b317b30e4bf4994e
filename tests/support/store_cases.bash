# SPDX-License-Identifier: MIT
# Tests that are the same for each store but Redis. The suite of a store calls each of these
# functions in a test of its own, with $DLOCK_URL. A part of suite.bash, to be named after cli,
# supervise, ticker and line.
# shellcheck shell=bash disable=SC2016,SC2030,SC2031,SC2154

# newer_dlock_is_refused: checks that this dlock refuses lock a, which is held and whose record says
# layout 2.
newer_dlock_is_refused() {
  run -78 --separate-stderr "$DLOCK" run -w 5s a -- touch "$MARKER"
  assert_stderr_has "it was written by a newer dlock, layout 2; this dlock knows 1: upgrade dlock on this host"
  run -78 "$DLOCK" run -n a -- touch "$MARKER"
  run -78 "$DLOCK" inspect a
  "$DLOCK" run beside -- "$DLOCK" list >"$T/listed"
  grep -q '^a: held by a foreign lock (unreadable; .*a newer dlock' "$T/listed"
  grep -q '^beside: held by ' "$T/listed"
  assert_not_started
}

# newer_row_is_refused: the same for stores with the tables of `db`: writes layout 2 into the row,
# and checks that dlock changes no row.
newer_row_is_refused() {
  hold a
  db "UPDATE dlock SET state = replace(state, '{\"name\"', '{\"layout\":2,\"name\"')"
  newer_dlock_is_refused
  [ "$(db "SELECT count(*) FROM dlock_line")" = 0 ]
  [ "$(db "SELECT count(*) FROM dlock WHERE state LIKE '{\"layout\":2,%'")" = 1 ]
}

# columns_more_or_less: checks that dlock works with a column too many in its tables, and refuses
# tables that lack a column.
columns_more_or_less() {
  "$DLOCK" run a -- true
  db "ALTER TABLE dlock ADD COLUMN note varchar(9); ALTER TABLE dlock_line ADD COLUMN note varchar(9)"
  hold a
  stand a 1
  let_go
  eventually 10s entered 1
  db "ALTER TABLE dlock DROP COLUMN version"
  run -78 --separate-stderr "$DLOCK" run a -- touch "$MARKER"
  assert_stderr_has "the table dlock lacks one of the columns token, version and state"
  assert_stderr_has "dlock doctor --ddl"
  db "ALTER TABLE dlock ADD COLUMN version bigint NOT NULL DEFAULT 0; ALTER TABLE dlock_line DROP COLUMN who"
  run -78 --separate-stderr "$DLOCK" run a -- touch "$MARKER"
  assert_stderr_has "or dlock_line one of its own"
  assert_not_started
}

# no_right_too_many RIGHT…: checks that with all these rights all_calls succeeds, and that without
# any one of them it does not. The caller defines grant_all_but RIGHT, which gives the user all
# rights but this one, and all_calls WORD, which gets another WORD each time.
no_right_too_many() {
  local right
  grant_all_but ""
  all_calls all || fail "the rights of the page do not suffice"
  for right; do
    grant_all_but "$right"
    ! all_calls "${right//[^a-z]/}" || fail "no command needs $right"
  done
}

# no_row_right_too_many USER: no_right_too_many for the grants that doctor --ddl prints; USER is the
# user of $USER_URL.
no_row_right_too_many() {
  local who=$1 grants rights
  grants=$("$DLOCK" doctor --ddl --url "$USER_URL" | sed -n "s/^-- //; s/HOST/localhost/; s/^grant/grant/p")
  grep -qx "grant select, insert, update on dlock to .*" <<<"$grants"
  mapfile -t rights < <(sed 's/^grant //; s/ to .*//' <<<"$grants" |
    awk -F' on ' '{ n = split($1, verbs, ", "); for (i = 1; i <= n; i++) print verbs[i] " on " $2 }')
  grant_all_but() {
    db "${grants//$'\n'/;}"
    [ -z "$1" ] || db "revoke $1 from $who"
  }
  all_calls() { # a right that is missing is also seen by the place that stays in the line
    DLOCK_URL=$USER_URL "$DLOCK" run "free$1" -- true 2>/dev/null || return
    [ "$(DLOCK_URL=$USER_URL "$DLOCK" run -w 1s held -- true 2>/dev/null || echo $?)" = 75 ] &&
      [ "$(db "select count(*) from dlock_line")" = 0 ]
  }
  hold held
  [ "${#rights[@]}" -ge 6 ]
  no_right_too_many "${rights[@]}"
  db "delete from dlock_line"
  grant_all_but ""
  # Only doctor wants to delete a row, that of its trial lock.
  DLOCK_URL=$USER_URL run -0 "$DLOCK" doctor
  assert_output --regexp "i row .*the row doctor:[0-9a-f]{16} stays in dlock"
  let_go
}

# Replaces in_line of line.bash, which asks Redis.
in_line() {
  "$DLOCK" inspect --json "$1" |
    python3 -S -c 'import json, sys; print(json.load(sys.stdin)["locks"][0]["waiting"])'
}

# count_in_parallel PROCESSES TIMES [URL]: each process adds 1 to a number TIMES times, under one
# lock.
# shellcheck disable=SC2016  # for the child to expand
count_in_parallel() {
  local i k pids=() pid
  echo 0 >"$T/count"
  for ((i = 0; i < $1; i++)); do
    (for ((k = 0; k < $2; k++)); do
      "$DLOCK" ${3:+--url "$3"} run -w 300 counter -- \
        sh -c 'read n <"$0"; echo $((n + 1)) >"$0"' "$T/count" || exit
    done) 2>>"$T/err" 3>&- &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || fail "$(grep -v waiting "$T/err" | head -5)"; done
  assert_equal "$(cat "$T/count")" $(($1 * $2))
}

waiters_enter_in_order() {
  hold a
  stand_all a 1 4
  run -0 "$DLOCK" inspect -v a
  assert_line --partial "1st in line"
  assert_line --partial "4th in line"
  run -75 "$DLOCK" run --max-waiters 4 a -- touch "$MARKER"
  list_knows_the_holder_and_four_waiters
  let_go
  eventually 20s entered 4
  assert_order 1 2 3 4
  assert_not_started
}

list_knows_the_holder_and_four_waiters() {
  local choice
  run -0 "$DLOCK" inspect -q --waited a
  for choice in --mine "--user $(id -un)" "--host $(hostname)"; do
    # shellcheck disable=SC2086  # split on purpose
    run -0 "$DLOCK" list --names $choice
    assert_output a
  done
  run -0 "$DLOCK" list --host elsewhere.example
  assert_output ""
  run -0 "$DLOCK" list --format prometheus
  assert_line 'dlock_up 1'
  assert_line 'dlock_held{lock="a"} 1'
  assert_line 'dlock_waiters{lock="a"} 4'
  assert_line --regexp '^dlock_hold_age_seconds[{]lock="a"[}] [0-9]+[.][0-9]{3}$'
  assert_line --regexp '^dlock_lease_left_seconds[{]lock="a"[}] [0-9]+[.][0-9]{3}$'
}

# first_waiter_is_passed_over [TIME]: checks that a stopped first waiter is passed over within TIME.
first_waiter_is_passed_over() {
  hold a
  stand_all a 1 3
  kill -STOP "${WAITERS[1]}"
  kill -KILL "${WAITERS[2]}"
  let_go
  eventually "${1:-20s}" entered 1
  [ "$(order)" = 3 ]
  kill -CONT "${WAITERS[1]}"
  eventually 20s entered 2
  assert_order 3 1
}

# A dead waiter keeps its place until the store notices its death.
dead_waiter_keeps_no_free_lock() {
  hold a
  stand a 1
  kill -KILL "${WAITERS[1]}"
  let_go
  run -0 timeout 5 "$DLOCK" run -n a -- touch "$T/ran"
  [ -e "$T/ran" ]
}

names_in_either_order() {
  local i
  both_names() { for ((i = 0; i < 15; i++)); do "$DLOCK" run -q -w 60 --and "$2" "$1" -- true || return; done; }
  both_names a b 3>&- &
  STARTED+=($!)
  both_names b a
  wait "${STARTED[-1]}"
  run -0 "$DLOCK" list
  assert_output ""
}

nested_run_outlives_its_parent() {
  dlock_run a a -- bash -c 'setsid "$DLOCK" run a -- sh -c "touch \"\$0/in\"; until [ -e \"\$0/go\" ]; do sleep 0.02; done" \
    "$0" >/dev/null 2>&1 & until [ -e "$0/in" ]; do sleep 0.02; done' "$T"
  ends 10s a "exit 0"
  run -75 "$DLOCK" run -n a -- touch "$MARKER"
  touch "$T/go"
  run -0 "$DLOCK" run -w 10 a -- true
  assert_not_started
}

# all_that_a_lock_can [TTL]: uses all features of a lock except --min-hold.
all_that_a_lock_can() {
  eval "$("$DLOCK" acquire a --ttl "${1:-1m}")"
  run -75 env -u DLOCK_HOLDS "$DLOCK" run -n a -- true
  run -0 "$DLOCK" run -n a -- true
  run -0 "$DLOCK" renew a
  run -0 "$DLOCK" release a
  unset DLOCK_HOLDS DLOCK_OWNER
  run -0 "$DLOCK" run --and b a -- env -u DLOCK_HOLDS "$DLOCK" run -n --and d c -- true
  run -5 "$DLOCK" run --and b a -- env -u DLOCK_HOLDS "$DLOCK" run -n -E 5 b -- true
  run -0 "$DLOCK" run -s r -- env -u DLOCK_HOLDS "$DLOCK" run -n -s r -- true
  run -75 "$DLOCK" run -s r -- env -u DLOCK_HOLDS "$DLOCK" run -n -x r -- true
  run -0 "$DLOCK" run --slots 2 s -- env -u DLOCK_HOLDS "$DLOCK" run -n --slots 2 s -- sh -c 'echo $DLOCK_SLOT'
  assert_output 1
  run -0 "$DLOCK" run --once-per 1h o -- echo ran
  run -0 "$DLOCK" run --once-per 1h o -- echo ran
  refute_output ran
}

# Checks that renew --while notices a release at once: its next renewal would come after ten
# seconds.
keeper_ends_with_the_release() {
  eval "$("$DLOCK" acquire a --ttl 30s)"
  spawn keeper "$DLOCK" renew --while $$ a
  sleep 2 # by then it watches the hold
  run -0 "$DLOCK" release a
  ends 4s keeper "exit 0"
}

force_release_stops() {
  dlock_run a a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  stand a 1
  run -0 "$DLOCK" force-release --yes a
  ends 10s a "exit 79"
  eventually 10s entered 1
}

killed_with_its_guard() {
  dlock_run a --ttl 2s a -- "$TICKER" "$TICKS"
  eventually 10s ticking
  kill -KILL "$(pgrep -P "$a_pid" -x lease-guard)" "$a_pid"
  run -0 "$DLOCK" run -w 20 a -- true
}

# The suite defines kill_store and run_store and, for server_stands_still, signal_store SIGNAL.
server_comes_back_in_time() {
  local before
  dlock_run a --ttl 10s -k 500ms a -- sh -c 'echo "$DLOCK_TOKEN"; until [ -e "$0/go" ]; do sleep 0.02; done; exit 7' "$T"
  eventually 10s file_has "$T/a.out"
  before=$(cat "$T/a.out")
  kill_store
  run_store
  sleep 1
  touch "$T/go"
  ends 10s a "exit 7"
  run -0 --separate-stderr "$DLOCK" run -w 10 a -- sh -c 'echo "$DLOCK_TOKEN"'
  [ "$output" -gt "$before" ] || fail "token $output after $before"
}

# Checks that a token is larger than all before it, although the store has lost its data. The suite
# defines wipe_store, which deletes the data.
store_is_replaced() {
  local before
  for _ in 1 2 3; do run -0 --separate-stderr "$DLOCK" run a -- sh -c 'echo "$DLOCK_TOKEN"'; done
  before=$output
  kill_store
  wipe_store
  run_store
  run -0 --separate-stderr "$DLOCK" run -w 10 a -- sh -c 'echo "$DLOCK_TOKEN"'
  [ "$output" -gt "$before" ] || fail "token $output after $before"
}

server_stands_still() {
  dlock_run a --ttl 2s a -- "$TICKER" "$TICKS" catch 15
  eventually 10s ticking
  signal_store STOP
  sleep 4
  signal_store CONT
  ends 5s a "exit 79"
  grep -q signal-15 "$TICKS" || fail "$(tail -2 "$TICKS")"
  run -0 "$DLOCK" run -w 20 a -- true
}

# Checks that the command goes on if the answer to the first renewal is lost; the proxy at $PROXY
# loses it.
renewal_is_unanswered() {
  dlock_run a --url "$PROXY" --ttl 3s -k 200ms a -- sh -c 'until [ -e "$0/go" ]; do sleep 0.02; done; exit 7' "$T"
  eventually 10s file_has "$T/proxy.log"
  sleep 4 # longer than the lease
  run -75 "$DLOCK" run -n a -- true
  touch "$T/go"
  ends 10s a "exit 7"
}

# release_meets_a_waiter WAITS: checks that a release offers the lock to a claim that has joined the
# line of lock a while the release waited for the row. WAITS is SQL that counts the sessions that
# wait for a row.
release_meets_a_waiter() {
  hold a
  local silent_at=$((($(date +%s) + 9) * 1000000))
  mkfifo "$T/claim"
  "db_of_$DB_ACCOUNT" <"$T/claim" >"$T/claim.out" 3>&- &
  exec {claim}>"$T/claim"
  printf '%s\n' "BEGIN; SELECT name FROM dlock WHERE name = 'a' FOR UPDATE;" \
    "INSERT INTO dlock_line VALUES ('a', 1, 'p#t', $silent_at, '{}'); SELECT 'joined';" >&"$claim"
  eventually 5s grep -q joined "$T/claim.out"
  touch "$T/go"
  eventually 5s waits_for_row "$1"
  echo 'COMMIT;' >&"$claim"
  exec {claim}>&-
  wait "$HOLDER"
  [ "$(db "SELECT alive_until FROM dlock_line WHERE name = 'a'")" -lt "$silent_at" ] ||
    fail "no turn: $(db 'SELECT * FROM dlock_line')"
}
waits_for_row() { [ "$(db "$1")" -gt 0 ]; }

# Checks that a release deletes no row that another program has written since, or that is not the
# lock's any more.
foreign_row_stays() {
  local change
  for change in "locked_by = 'app1'" "state = ''"; do
    hold b
    db "UPDATE dlock SET $change WHERE name = 'b'"
    let_go || true
    [ -n "$(db "SELECT locked_by FROM dlock WHERE name = 'b'")" ] || fail "released: $change"
    db 'DELETE FROM dlock'
  done
}

# freezes: checks dlock freeze and dlock unfreeze, with a free and with a held lock.
freezes() {
  run -0 --separate-stderr "$DLOCK" freeze --for 1h --reason upgrade free also
  assert_equal "$stderr" $'dlock: froze "free" for 1h\ndlock: froze "also" for 1h'
  [ -z "$output" ]
  run -75 --separate-stderr "$DLOCK" run -n free -- touch "$MARKER"
  assert_stderr_has ": frozen by $(id -un)@"
  assert_stderr_has " more: upgrade"
  run -75 "$DLOCK" run -n -s free -- touch "$MARKER"
  run -75 "$DLOCK" acquire -n free
  run -0 "$DLOCK" inspect -q free
  run -0 "$DLOCK" list
  assert_line --regexp '^also: frozen by .* for [0-9ms.h]+ more: upgrade$'
  run -0 json '[(l["state"], l["frozen"]["reason"], 3000000 < l["frozen"]["left_ms"] <= 3600000)
    for l in d["locks"]]' < <("$DLOCK" inspect --json free)
  assert_output '[["held", "upgrade", true]]'
  run -75 --separate-stderr "$DLOCK" force-release -y free
  assert_stderr_has "; dlock unfreeze ends that"
  run -0 --separate-stderr "$DLOCK" unfreeze also free
  assert_stderr_has 'dlock: unfroze "also"; it was frozen by '
  assert_stderr_has 'dlock: unfroze "free"; it was frozen by '
  run -1 --separate-stderr "$DLOCK" unfreeze also
  assert_equal "$stderr" 'dlock: "also" is not frozen: nothing to unfreeze'
  assert_not_started
  run -0 "$DLOCK" run -n free -- true

  hold held
  run -0 --separate-stderr "$DLOCK" freeze --for 4s held
  assert_stderr_has '; the lock was held by '
  assert_stderr_has ', and this holder goes on'
  run -75 --separate-stderr "$DLOCK" run -n held -- touch "$MARKER"
  assert_stderr_has '; frozen by '
  spawn late "$DLOCK" run -w 20s held -- sh -c 'date +%s%3N >$0' "$T/thawed"
  date +%s%3N >"$T/released"
  let_go
  run -75 --separate-stderr "$DLOCK" run -n held -- touch "$MARKER"
  ends 20s late "exit 0" # by itself
  assert_not_started
}

# tells_the_last_run [OPTION…]: checks that inspect shows who ran last and how that ended; the OPTIONs
# are for run and release.
tells_the_last_run() {
  run -3 "$DLOCK" run "$@" --reason nightly job -- sh -c 'exit 3'
  run -0 "$DLOCK" inspect job
  assert_line -n 0 'job: free'
  assert_line -n 1 --regexp "^  last run: $(id -un)@.* pid [0-9]+ \(sh\) for [0-9.]+m?s, ended [0-9.]+m?s ago: exit status 3$"
  run -0 json '[[l["reason"], l["outcome"], l["exit_status"], l["signal"], l["later_is_silent"],
      l["held_ms"] == l["ended_ms"] - l["since_ms"], 0 <= l["waited_ms"] < 30000]
    for l in [d["locks"][0]["last"]]]' < <("$DLOCK" inspect --json job)
  assert_output '[["nightly", "child", 3, null, false, true, true]]'
  hold job "$@"
  run -0 "$DLOCK" inspect job
  assert_output --partial ': exit status 3'
  kill -TERM "$HOLDER"
  wait "$HOLDER" || true
  run -0 "$DLOCK" inspect job
  assert_output --partial ': signal 15'
  run -0 "$DLOCK" run --keep-last 0 job -- true # leaves what there is
  run -0 "$DLOCK" inspect job
  assert_output --partial ': signal 15'
  eval "$("$DLOCK" acquire step)"
  run -0 "$DLOCK" release "$@" step
  run -0 "$DLOCK" inspect step
  assert_output --partial ': released'
}
