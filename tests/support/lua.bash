# SPDX-License-Identifier: MIT
# Shared by tests/lua: runs each script alone on a server, by redis-cli EVAL, with the keys and words
# that dlock-protocol(7) names. No program of ours takes part.
# shellcheck shell=bash

SCRIPTS=$PROJECT/src/store/redis/scripts
# The keys of the name n.
K=dlock:n
G='{dlock:n}'
H="dlock:holds:$G"
R="dlock:revoked:$G"
L="dlock:line:$G"
W="dlock:waiters:$G"
# shellcheck disable=SC2034  # for the suites
T="redisson_lock_token:$G" D="dlock:done:$G" LAST="dlock:last:$G" C="redisson_lock__channel:$G" TURN="dlock:turn:$G:"
RECORD='"host":"h","pid":1}'

# What acquire and waiter ask for. A test changes it for one call: MODE=shared acquire …
NAMES=(n)
TTL=10000
MODE=exclusive
SLOTS=0
ONCE=0
PROPOSED=''
END='' # how the run ended, for release
RELIES_ON=()
ACQUIRE=acquire # or acquire_one
PLACE=server # or cluster: then run_script adds the key that never exists

# keys_of WHAT…: sets KEYS to these keys of each of NAMES.
keys_of() {
  local name what
  KEYS=()
  for name in "${NAMES[@]}"; do
    for what; do
      case $what in
        lock) KEYS+=("dlock:$name") ;;
        token) KEYS+=("redisson_lock_token:{dlock:$name}") ;;
        *) KEYS+=("dlock:$what:{dlock:$name}") ;;
      esac
    done
  done
}

# script_text NAME: prints the script as it is sent: "-- include:" lines are replaced by the files.
script_text() {
  local line
  while IFS= read -r line; do
    if [[ $line == '-- include: '* ]]; then
      line=${line/parts\/server.lua/parts\/$PLACE.lua}
      cat "$SCRIPTS/${line#-- include: }"
    else
      printf '%s\n' "$line"
    fi
  done <"$SCRIPTS/$1.lua"
}

# run_script NAME KEYCOUNT KEY… ARG…: runs the script on the server at $ON, or else at
# $REDIS_SOCKET; as the user $BY, if one is set.
run_script() {
  local text=$BATS_FILE_TMPDIR/$1.$PLACE.lua keys=("${@:3:$2}")
  [ "$PLACE" = server ] || keys+=("dlock:never:$G")
  [ -s "$text" ] || script_text "$1" >"$text"
  # shellcheck disable=SC2086  # words
  redis-cli -s "${ON:-$REDIS_SOCKET}" ${BY:+--no-auth-warning --user $BY --pass x} \
    EVAL "$(<"$text")" ${#keys[@]} "${keys[@]}" "${@:3+$2}" 2>&1
}
# waiter OWNER SERIAL [polls]: prints the text by which the waiter is stored in the line.
waiter() {
  local how=${3:+'"polls":true,'}
  [ "$MODE" = exclusive ] || how+="\"mode\":\"$MODE\","
  [ "$MODE" != slots ] || how+="\"slots\":$SLOTS,"
  printf '{"id":"%s#%s",%s%s' "$1" "$2" "$how" "$RECORD"
}
# asked MOST|'': prints what else than a plain lock is asked for (parts/claim.lua).
asked() {
  local words=()
  [ "$MODE" = exclusive ] || words+=("mode=$MODE")
  [ "$MODE" != slots ] || words+=("slots=$SLOTS")
  [ "$ONCE" = 0 ] || words+=("once=$ONCE")
  [ -z "$1" ] || words+=("most=$1")
  [ -z "$PROPOSED" ] || words+=("token=$PROPOSED")
  printf '%s' "${words[*]}"
}
# acquire_as WAITER|'' MOST|'' OWNER SERIAL [TTL [ANCESTOR SERIAL]…]: runs the script acquire.
# WAITER is the record to stand in line with, MOST the largest number of other waiters. The
# ANCESTORs hold the first name; RELIES_ON has the ids of those holds that must not be lost.
# Prints a record alone as the other form of a grant, with "granted" and the owner before it.
acquire_as() {
  local name above=("${@:6}") words=() said
  for name in "${NAMES[@]}"; do
    words+=("{dlock:$name}" $((${#above[@]} / 2)) "${above[@]}")
    above=()
  done
  keys_of lock token holds revoked line waiters 'done'
  said=$(run_script "$ACQUIRE" ${#KEYS[@]} "${KEYS[@]}" "$3" "$4" "${5:-$TTL}" "$RECORD" "$1" \
    "$(asked "$2")" "${words[@]}" "${RELIES_ON[@]}") || return
  [[ $said != '{"token":'* ]] || printf '%s\n' granted "$3"
  printf '%s\n' "$said"
}
acquire() { acquire_as '' '' "$@"; } # OWNER SERIAL [TTL [ANCESTOR SERIAL]…]
stand() { acquire_as "$(waiter "$1" "$2")" '' "$@"; }
stand_polling() { acquire_as "$(waiter "$1" "$2" polls)" '' "$@"; }
renew() { # OWNER SERIAL [TTL [WHOLE [PROCESSES]]]
  local name words=()
  for name in "${NAMES[@]}"; do words+=("$1" "$MODE" "{dlock:$name}"); done
  keys_of lock holds revoked
  run_script renew ${#KEYS[@]} "${KEYS[@]}" "$2" "${3:-$TTL}" "${4:-0}" "${words[@]}" ${5:+"$5"}
}
release() { # OWNER SERIAL [KEEP [TELL]]
  local name words=()
  for name in "${NAMES[@]}"; do words+=("$1" "{dlock:$name}" "${3:-0}"); done
  keys_of lock holds revoked line waiters 'done'
  run_script release ${#KEYS[@]} "${KEYS[@]}" "$2" "${4:-0}" "$END" 60000 "${words[@]}"
}
leave() { # OWNER SERIAL [polls]
  local name words=()
  for name in "${NAMES[@]}"; do words+=("{dlock:$name}"); done
  keys_of lock line waiters
  run_script leave ${#KEYS[@]} "${KEYS[@]}" "$(waiter "$@")" "${words[@]}"
}
inspect() { run_script inspect 6 "$K" "$H" "$R" "$L" "$W" "$D" "$G"; }
revoke() { # BY NOW [OWNER [TOKEN]]
  run_script revoke 5 "$K" "$H" "$R" "$L" "$W" "$1" "$2" "${3:-}" "${4:-}" "$G"
}

shared() { MODE=shared "$@"; }
writing() { MODE="write" "$@"; }
slots() { MODE=slots SLOTS=$1 "${@:2}"; } # N CALL…
one() { ACQUIRE=acquire_one "$@"; }

# lease OWNER [I]: prints the key that has the lease of OWNER's Ith hold, if several owners hold the
# lock.
lease() { printf '%s:%s:rwlock_timeout:%s\n' "$G" "$1" "${2:-1}"; }
# Prints the slot number of a hold.
slot() { r hget "$H" "$1#${2:-s}" | sed -E 's/.*,"mode":"slots","slot":([0-9]+),.*/\1/'; }
# busy_end ANSWER: prints the end of a busy answer of acquire: our place in line, the number of the
# name in the way, the ms for which a free name waits for the first in line, and 1 if an ancestor
# holds it in a mode that excludes ours.
busy_end() { tail -n 4 <<<"$1" | xargs; }
place_of() { tail -n 4 <<<"$1" | head -n 1; }
# Prints the owners in line, in order.
in_line() { r zrange "${1:-$L}" 0 -1 | sed -E 's/^\{"id":"([^#]*)#.*/\1/' | xargs; }

# listen: from now on records all published messages. said: prints "channel word" for each message
# since the last call. The test has to end $EAR.
listen() {
  redis-cli -s "$REDIS_SOCKET" psubscribe '*' >"$BATS_TEST_TMPDIR/all-said" 3>&- &
  export EAR=$!
  eventually 5s grep -qs psubscribe "$BATS_TEST_TMPDIR/all-said"
}
said() {
  local from
  from=$(grep -cx said "$BATS_TEST_TMPDIR/all-said" || true)
  r publish said $((from + 1)) >/dev/null
  eventually 5s said_so_far $((from + 1))
  awk -v from="$from" 'BEGIN { on = from == 0 }
    $0 != "pmessage" { next }
    { getline; getline channel; getline word }
    channel == "said" { on = word == from; next }
    on { print channel, word }' "$BATS_TEST_TMPDIR/all-said"
}
said_so_far() { tail -n 2 "$BATS_TEST_TMPDIR/all-said" | xargs | grep -qx "said $1"; }

# calls CALL…: prints how many commands the server executed for CALL, including those in scripts.
calls() {
  r config resetstat >/dev/null
  "$@" >/dev/null
  r info commandstats | sed -nE '/^cmdstat_(config|info|client|ping)/d; s/^cmdstat.*:calls=([0-9]+),.*/\1/p' |
    awk '{ n += $1 } END { print n }'
}

# first ANSWER: prints the first word of ANSWER.
first() { printf '%s\n' "${1%%$'\n'*}"; }
token() { r hget "$H" "$1#$2" | sed -E 's/^\{"token":([0-9]+).*/\1/'; }

# Prints everything that is stored, in a fixed order, without times.
dump_all() {
  local key
  for key in $(r keys '*' | sort); do
    printf '%s %s\n' "$key" "$(r type "$key")"
    case $(r type "$key") in
      hash) r hgetall "$key" ;;
      string) r get "$key" ;;
      list) r lrange "$key" 0 -1 ;;
      set) r smembers "$key" | sort ;;
      *) r object encoding "$key" ;;
    esac
  done
}
# ttl_between KEY LEAST MOST: checks the expiry of KEY, in ms.
ttl_between() {
  local left
  left=$(r pttl "$1")
  if [ "$left" -lt "$2" ] || [ "$left" -gt "$3" ]; then fail "pttl $1 is $left, not $2..$3"; fi
}

# The records end after their lock, at most a second later.
records_between() { ttl_between "$1" "$2" "$(($3 + 1000))"; }

wanted_once() { ONCE=$1 "${@:2}"; } # MS CALL…
# A serial of this form says that `dlock acquire` took the hold.
# shellcheck disable=SC2034  # for the suites
STEP=a0123456789abcdef
# shellcheck disable=SC2034
RELEASED="dlock:released:$G"
relying_on() { # ID CALL…
  local RELIES_ON=("$1")
  "${@:2}"
}
