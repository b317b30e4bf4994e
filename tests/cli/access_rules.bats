#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: the documented access rules suffice, and a right that is missing is named before anything is
# started.
# The children expand what is quoted here, and every test is a shell of its own.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../support/suite
suite server cli refused

# The rights that suffice, word for word: those of keys and channels, and the commands.
page=$(sed -n 's/\\(ti/~/g; s/\\-/-/g; s/^ACL SETUSER dlock //p' "$PROJECT/man/dlock-protocol.7" | tr ' ' '\n')
rights=$(grep -vE '^([+]|on$|>)' <<<"$page" | tr '\n' ' ')
commands=$(sed -n 's/^+//p' <<<"$page" | tr '\n' ' ')

acl_user() { # COMMANDS [KEYS AND CHANNELS]: a user worker with these rights
  r acl deluser worker >/dev/null
  # shellcheck disable=SC2046,SC2086  # words
  r acl setuser worker on '>sesame' ${2:-$rights} $(printf '+%s ' $1) >/dev/null
  export DLOCK_URL=redis+unix://worker:sesame@$REDIS_SOCKET
}
without() { tr ' ' '\n' <<<"$1" | grep -vxF "$2" | tr '\n' ' '; }

@test "R28: the documented ACL suffices for everything" {
  acl_user "$commands"
  run -0 --separate-stderr "$DLOCK" run --ttl 4s -k 200ms "$(fresh)" -- sleep 4.2
  assert_no_stderr
  run -0 --separate-stderr "$DLOCK" run "$(fresh)" -- "$DLOCK" run "$(fresh)" -- true
  assert_no_stderr
  hold "$(fresh)" --ttl 9s
  run -75 "$DLOCK" run -w 0.2 "$(fresh)" -- true
  run -0 "$DLOCK" inspect "$(fresh)"
  run -0 "$DLOCK" list
  assert_output --partial "$(fresh)"
  run -0 "$DLOCK" force-release --yes "$(fresh)"
  wait "$HOLDER" || [ $? = 79 ]
  r set "dlock:$(fresh)" x >/dev/null
  run -0 "$DLOCK" force-release --yes --now "$(fresh)"
  run -0 "$DLOCK" --url "$DLOCK_URL?db=0" list
  run -77 "$DLOCK" --url "$DLOCK_URL?db=1" run "$(fresh)" -- touch "$MARKER"
  assert_not_started
  acl_user "$commands select"
  run -0 "$DLOCK" --url "$DLOCK_URL?db=1" run "$(fresh)" -- true
}

@test "R28: an ACL that lacks a command needed to run: 77, naming it" {
  local lacking
  for lacking in type hset hincrby pexpire pttl get set del time evalsha; do
    acl_user "$(without "$commands" "$lacking")"
    rm -f "$MARKER"
    run --separate-stderr "$DLOCK" run --ttl 3s -k 200ms "$(fresh)" -- sh -c 'touch "$MARKER"; sleep 1.2'
    if [ "$status" != 0 ]; then
      [ "$status" = 77 ] || fail "without $lacking: $status $stderr"
      assert_one_line
      assert_not_started
      [[ ${stderr,,} == *"'$lacking'"* ]] || fail "without $lacking: $stderr"
    else
      assert_no_stderr
    fi
    key_gone "$(fresh)" || fail "without $lacking a key is left"
  done
  # The first command of all, seen without a script cache too.
  r script flush >/dev/null
  acl_user "${commands/ eval / }"
  refused 77 run "$(fresh)" -- touch "$MARKER"
  assert_stderr_has eval
}

@test "R28: inspect, wait, list, release and force-release without a right end with 77 or do what they say" {
  local lacking command seen=0
  for lacking in evalsha type get pttl hgetall time zrange del publish; do
    for command in inspect 'wait -w 0' list 'force-release --yes --now'; do
      acl_user "$commands"
      hold "$(fresh)" --ttl 9s
      acl_user "$(without "$commands" "$lacking")"
      # shellcheck disable=SC2046,SC2086  # words
      run --separate-stderr "$DLOCK" $command $([ "$command" = list ] || fresh)
      case $status in
        0 | 75) ;;
        77) seen=$((seen + 1)) && assert_stderr_has 'ACCESS RULES in dlock-protocol(7)' ;;
        *) fail "$command without $lacking: $status $stderr" ;;
      esac
      acl_user "$commands"
      let_go || true
    done
  done
  [ "$seen" -ge 6 ]
}

@test "R28: an ACL that lacks a command needed later is found at the start, or does no harm" {
  # What only renewing, releasing or waiting needs: no command is started that could not be kept.
  local lacking
  for lacking in hdel hincrby hget hgetall hlen hkeys zadd zrem zcard zrank zscore zrange zrangebyscore; do
    acl_user "$(without "$commands" "$lacking")"
    run --separate-stderr "$DLOCK" run --ttl 3s -k 200ms "$(fresh)" -- sleep 3.2
    case $status in
      0) assert_no_stderr && key_gone "$(fresh)" ;;
      77) [[ ${stderr,,} == *"'$lacking'"* ]] || fail "without $lacking: $stderr" ;;
      *) fail "without $lacking: $status $stderr" ;;
    esac
    eventually 5s key_gone "$(fresh)"
  done
}

@test "R28: an ACL that lacks a right on keys: 77, naming a key" {
  local lacking
  for lacking in dlock redisson_lock_token; do
    [[ $rights == *"~$lacking:*"* ]]
    acl_user "$commands" "$(without "$rights" "~$lacking:*")"
    refused 77 run "$(fresh)" -- touch "$MARKER"
    assert_stderr_has key
    key_gone "$(fresh)"
  done
}

@test "R28: without the right to publish, to subscribe or to the channel dlock polls" {
  local lacking
  for lacking in publish subscribe 'client|id' 'client|tracking' '&redisson_lock__channel:*' \
    '&dlock:turn:*' '&__redis__:invalidate'; do
    acl_user "$(without "$commands" "$lacking")" "$(without "$rights" "$lacking")"
    run -0 --separate-stderr "$DLOCK" run "$(fresh)" -- true
    assert_no_stderr
    key_gone "$(fresh)"
    hold "$(fresh)"
    (sleep 0.3 && touch "$BATS_TEST_TMPDIR/go") 3>&- &
    run -0 timeout 10 "$DLOCK" run -w 8 "$(fresh)" -- true
    let_go
  done
}
