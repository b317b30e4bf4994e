# SPDX-License-Identifier: MIT
# Shared by tests/lua: each script alone on a server, by redis-cli EVAL, with the keys and words that
# dlock(7) names. No program of ours takes part.
# shellcheck shell=bash

SCRIPTS=$PROJECT/src/store/redis/scripts
K=dlock:n
T='redisson_lock_token:{dlock:n}'
H='dlock:holds:{dlock:n}'
R='dlock:revoked:{dlock:n}'
C='redisson_lock__channel:{dlock:n}'
L='dlock:line:{dlock:n}'
W='dlock:waiters:{dlock:n}'
TURN='dlock:turn:{dlock:n}:'
# shellcheck disable=SC2034  # for the suites
RECORD='"host":"h","pid":1}'

# script_text NAME: as it is sent, "-- include:" lines replaced by the files.
script_text() {
  local line
  while IFS= read -r line; do
    if [[ $line == '-- include: '* ]]; then
      cat "$SCRIPTS/${line#-- include: }"
    else
      printf '%s\n' "$line"
    fi
  done <"$SCRIPTS/$1.lua"
}

# run_script NAME KEYCOUNT KEY… ARG…: on $REDIS_SOCKET, or on $ON.
run_script() {
  local name=$1
  shift
  redis-cli -s "${ON:-$REDIS_SOCKET}" EVAL "$(script_text "$name")" "$@" 2>&1
}
# waiter OWNER SERIAL [polls]: how it stands in line.
waiter() {
  printf '{"id":"%s#%s",%s%s' "$1" "$2" "${3:+\"polls\":true,}" "$RECORD"
}
acquire_as() { # WAITER|'' MOST|'' OWNER SERIAL [TTL [ANCESTOR SERIAL]…]
  run_script acquire 6 "$K" "$T" "$H" "$R" "$L" "$W" "$3" "$4" "${5:-10000}" "$RECORD" \
    "$1" "$2" "$TURN" "${@:6}"
}
acquire() { acquire_as '' '' "$@"; } # OWNER SERIAL [TTL [ANCESTOR SERIAL]…]
stand() { acquire_as "$(waiter "$1" "$2")" '' "$@"; }
stand_polling() { acquire_as "$(waiter "$1" "$2" polls)" '' "$@"; }
renew() { run_script renew 3 "$K" "$H" "$R" "$1" "$2" "${3:-10000}"; }
release() { run_script release 5 "$K" "$H" "$R" "$L" "$W" "$1" "$2" "$C" "$TURN"; }
leave() { run_script leave 3 "$K" "$L" "$W" "$(waiter "$@")" "$TURN"; }
inspect() { run_script inspect 5 "$K" "$H" "$R" "$L" "$W"; }
revoke() { # BY NOW [OWNER [TOKEN]]
  run_script revoke 5 "$K" "$H" "$R" "$L" "$W" "$1" "$2" "${3:-}" "${4:-}" "$C" "$TURN"
}

# first ANSWER: its first word.
first() { printf '%s\n' "${1%%$'\n'*}"; }
token() { r hget "$H" "$1#$2" | sed -E 's/^\{"token":([0-9]+).*/\1/'; }

# Everything that is stored, in an order that does not change, without times.
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
# ttl_between KEY LEAST MOST, in ms.
ttl_between() {
  local left
  left=$(r pttl "$1")
  if [ "$left" -lt "$2" ] || [ "$left" -gt "$3" ]; then fail "pttl $1 is $left, not $2..$3"; fi
}
