#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: dlock-protocol(7) names the commands and rights that the scripts need.

load ../support/suite
suite docs

setup() { set_up_docs; }

@test "the commands of the scripts are the ones the protocol page allows" {
  in_scripts=$(grep -rhoE "redis\.p?call\('[A-Z]+'|may\('INFO'|'S?PUBLISH'" src/store/redis/scripts |
    grep -oE "'[A-Z]+'" | tr -d "'" | sort -u)
  in_text=$(sed -n '/^\.SH COMMANDS/,/^\.SH ACCESS/p' man/dlock-protocol.7 |
    sed -n '/scripts use/,$p' | grep -oE '\b[A-Z]{3,}\b' | grep -vxE 'ACCESS|RULES' | sort -u)
  assert_equal "$in_scripts" "$in_text"
  allowed=$(sed 's/\\-/-/g' man/dlock-protocol.7 | grep '^ACL SETUSER' | grep -oE '\+[a-z]+' |
    tr -d + | tr '[:lower:]' '[:upper:]' | sort -u)
  assert_equal "$(comm -23 <(grep -vx SPUBLISH <<<"$in_scripts") <(echo "$allowed"))" ""
}

leases() { [ "$(r keys "{dlock:$1}:*" | wc -l)" = "$2" ]; }

# The program does everything it can as a user who may do just that. The server notes what it refuses,
# also what a script tries.
@test "the access rules of the protocol page are enough for every script" {
  own_store
  start_redis
  sed -n 's/\\(ti/~/g; s/\\-/-/g; /^ACL SETUSER/p' "$PROJECT/man/dlock-protocol.7" >acl
  run -0 r <acl
  refute_output --partial ERR
  r config resetstat
  r monitor >seen 3>&- &
  export DLOCK_URL=redis+unix://dlock:PASSWORD@$REDIS_SOCKET
  for way in '' -x -s '--slots 2' '--min-hold 100ms' '--once-per 1h' '--no-renew'; do
    echo "$way"
    # shellcheck disable=SC2086  # split on purpose
    run -0 dlock run $way --and b a -- true
    assert_output ""
    # Held and renewed, nested in, waited for, looked at, handed over.
    if [ "$way" = --no-renew ]; then ttl=60s; else ttl=4s; fi
    # shellcheck disable=SC2016,SC2086
    dlock run --ttl $ttl -k 200ms $way "c$way" -- sh -c 'dlock run -s "$0" -- true || [ $? = 75 ]
      touch "held$0"; until [ -e "go$0" ]; do sleep 0.02; done' "c$way" 3>&- &
    eventually 10s test -e "heldc$way"
    (sleep 0.5 && dlock inspect "c$way" >/dev/null) 3>&- & # with one in line
    run -75 dlock run -x -w 1500ms "c$way" -- true
    run -75 dlock wait -n "c$way"
    run -0 dlock inspect "c$way"
    touch "goc$way"
    # shellcheck disable=SC2086
    run -0 dlock run -w 10s $way "c$way" -- true
    wait $!
  done
  run -0 dlock forget a
  run -0 dlock acquire --slots 3 d
  eval "$output"
  run -0 dlock renew d
  run -0 dlock release d
  run -0 dlock acquire -s d
  run -0 dlock force-release --now --yes d
  run -0 dlock acquire -x --ttl 4s d
  run -0 dlock force-release --yes d
  # Of two readers one is dead: who comes takes it out.
  run -0 dlock acquire -s --ttl 1s e
  run -0 dlock acquire -s e
  eventually 10s leases e 1
  run -75 dlock run -n -x e -- true
  [ "$(r hrandfield dlock:e 9 | wc -l)" = 2 ]
  run -0 dlock list
  run -0 r acl log
  assert_output ""
  all_are_used
}
# What is granted and was not asked for by the above is a right too many. INFO is for other servers: Redis
# 6.2, KeyDB and those of a quorum. So no command of the page may be one of this file's own.
all_are_used() {
  local right asked
  asked=$(r info commandstats | sed -n 's/^cmdstat_\([^:]*\):.*/\1/p')
  while read -r right; do
    [ "$right" = +info ] || grep -qxF -- "${right#+}" <<<"$asked" || fail "no command needs $right"
  done < <(grep -oE ' [+][a-z|]+' acl)
  while read -r right; do
    right=${right#?}
    grep -qF -- "\"${right%\*}" seen || fail "no key or channel is of $right"
  done < <(grep -oE ' [~&][^ ]+' acl)
}

teardown() { stop_redis; }
