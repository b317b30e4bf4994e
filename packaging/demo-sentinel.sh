#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./dev demo sentinel: three sentinels, a master and two replicas; the master is killed while a job
# runs under a lock. Everything is private, on ports of the loopback interface, and gone at the end.
# Ends with 1 if anything went otherwise than it says here.
set -euo pipefail
DLOCK=$(realpath "${DLOCK:-build/dev/dlock}")
folder=$(mktemp -d "${TMPDIR:-/tmp}/dlock-demo.XXXXXX")
servers=()

clean_up() {
  [ ${#servers[@]} = 0 ] || kill -KILL "${servers[@]}" 2>/dev/null || true
  wait 2>/dev/null
  rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

for name in $(compgen -e | grep -E '^(DLOCK_|REDIS)' || true); do unset "$name"; done
export HOME=$folder XDG_CONFIG_HOME=$folder NO_COLOR=1

wrong() { echo "demo: $*" >&2; exit 1; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
until_true() { # COMMAND…
  for _ in {1..400}; do ! "$@" >/dev/null 2>&1 || return 0; sleep 0.05; done
  wrong "not within 20 seconds: $*"
}
begin() { # FOLDER WORD…: a server with these words
  mkdir -p "$folder/$1"
  redis-server "${@:2}" --dir "$folder/$1" >"$folder/$1/log" 2>&1 </dev/null &
  servers+=($!)
}
says() { redis-cli -p "$1" "${@:3}" | grep -q "$2"; } # PORT TEXT COMMAND…
from() { tee "$folder/$1" | sed -u "s/^/  $1 | /"; }

data=("$(free_port)" "$(free_port)" "$(free_port)") hosts=()
begin master --port "${data[0]}" --save '' --repl-diskless-sync-delay 0
until_true says "${data[0]}" PONG ping
for i in 1 2; do
  begin "replica$i" --port "${data[i]}" --save '' --replicaof 127.0.0.1 "${data[0]}" --repl-diskless-sync-delay 0
done
for i in 0 1; do until_true says "${data[0]}" "slave$i:.*state=online" info replication; done
# With one second, sentinels took the new master for dead, too, before they were connected to it.
for i in 1 2 3; do
  port=$(free_port)
  mkdir "$folder/sentinel$i"
  printf '%s\n' "port $port" "sentinel monitor shop 127.0.0.1 ${data[0]} 2" \
    "sentinel down-after-milliseconds shop 3000" >"$folder/sentinel$i/conf"
  begin "sentinel$i" "$folder/sentinel$i/conf" --sentinel
  hosts+=("127.0.0.1:$port")
done
for host in "${hosts[@]}"; do
  until_true says "${host#*:}" sentinels=3 info sentinel
  until_true says "${host#*:}" slaves=2 info sentinel
done
DLOCK_URL=redis+sentinel://$(IFS=,; echo "${hosts[*]}")/shop
export DLOCK_URL

echo "1. Three sentinels watch a master at port ${data[0]} and two replicas; they call it \"shop\":"
echo "   DLOCK_URL=$DLOCK_URL"
echo "2. web1 takes the lock and starts its job. A replica has to have the lock, too, before it starts."
# shellcheck disable=SC2016  # for the job to expand
"$DLOCK" run --ttl 20s order-42 -- sh -c 'echo "token $DLOCK_TOKEN"; touch "$0/began"
  until [ -e "$0/go" ]; do sleep 0.1; done; echo "the job ends"' "$folder" 2>&1 | from web1 & first=$!
until_true test -e "$folder/began"
echo "3. web2 wants it, and waits."
# shellcheck disable=SC2016  # for the job to expand
"$DLOCK" run --ttl 20s order-42 -- sh -c 'echo "token $DLOCK_TOKEN: larger"' 2>&1 | from web2 & second=$!
sleep 1.5
echo "4. The master is killed (kill -KILL). In three seconds the sentinels miss it, in one more they choose a replica."
kill -KILL "${servers[0]}"
wait "${servers[0]}" 2>/dev/null || true
until_true grep -q 'is now' "$folder/web1"
echo "5. web1 has found its lock there: the job was never stopped, and goes on under the same token. It ends now."
touch "$folder/go"
wait "$first" || wrong "the first run ended with $?"
wait "$second" || wrong "the second run ended with $?"
echo "6. web2 had kept its place in line, and ran after it."
