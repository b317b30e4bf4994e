#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./dev demo: two hosts want the same lock. Everything is private (a redis-server on a socket in a
# folder of its own) and gone at the end. The two hosts are two UTS namespaces, so that dlock sees
# two host names; where the system does not allow that, both have this machine's name.
# Ends with 1 if anything went otherwise than it says here.
set -euo pipefail
DLOCK=$(realpath "${DLOCK:-build/dev/dlock}")
folder=$(mktemp -d "${TMPDIR:-/tmp}/dlock-demo.XXXXXX")
server=""

clean_up() {
  [ -z "$server" ] || kill -CONT "$server" 2>/dev/null || true
  jobs -pr | xargs -r kill -TERM 2>/dev/null || true # only what was started here and still runs
  wait
  rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# The user's own settings must not take effect here.
for name in $(compgen -e | grep -E '^(DLOCK_|REDIS)' || true); do unset "$name"; done
unset CI_JOB_URL BUILDKITE_BUILD_URL CIRCLE_BUILD_URL BUILD_URL GITHUB_RUN_ID
export HOME=$folder XDG_CONFIG_HOME=$folder NO_COLOR=1
export DLOCK_URL=redis+unix://$folder/redis.sock JOURNAL=$folder/journal

say() { printf '\n%s\n' "$*"; }
wrong() { echo "demo: $*" >&2; exit 1; }
# The command as one would type it, without the folder of the program.
typed() { local line; printf -v line ' %q' "${@:2}"; echo "$1\$ dlock$line"; }

# How this system lets us have two host names, if it does.
hosts=()
for try in "unshare --uts" "unshare --user --map-root-user --uts"; do
  # shellcheck disable=SC2086  # split on purpose
  if $try sh -c 'hostname web1' 2>/dev/null; then read -ra hosts <<<"$try"; break; fi
done

# on HOST ARG…: dlock ARG… as on that host, each line it writes with the host's name in front.
on() {
  local host=$1
  shift
  if [ ${#hosts[@]} != 0 ]; then
    # shellcheck disable=SC2016  # for the inner shell
    set -- "${hosts[@]}" sh -c 'hostname "$0" && exec "$@"' "$host" "$DLOCK" "$@"
  else
    set -- "$DLOCK" "$@"
  fi
  exec "$@" > >(sed -u "s/^/  $host | /") 2>&1
}

# ends_with STATUS PID: waits for a dlock in the background and looks how it ended.
ends_with() {
  local rc=0
  wait "$2" || rc=$?
  [ "$rc" = "$1" ] || wrong "a run ended with $rc, not with $1"
}

# until_journal LINE: waits until a job has written it.
until_journal() {
  for _ in {1..200}; do
    ! grep -qsF -- "$1" "$JOURNAL" || return 0
    sleep 0.05
  done
  wrong "no \"$1\" within 10 seconds"
}

redis-server --port 0 --unixsocket "$folder/redis.sock" --save '' --appendonly no \
  --dir "$folder" >"$folder/redis.log" 2>&1 </dev/null &
server=$!
for _ in {1..100}; do [ ! -S "$folder/redis.sock" ] || break; sleep 0.05; done
[ -S "$folder/redis.sock" ] || wrong "redis-server did not start: $(cat "$folder/redis.log")"

echo "A private redis-server is running; the host name each side sees:"
if [ ${#hosts[@]} != 0 ]; then
  echo "web1 and web2, by ${hosts[*]}"
else
  echo "this machine's on both sides: no permission for a second one (unshare --uts)"
fi

# shellcheck disable=SC2016  # for the job to expand
job='echo "begin $1 token $DLOCK_TOKEN" >>"$JOURNAL"; echo "working"; sleep "$2"
     echo "end $1" >>"$JOURNAL"; echo "done"'

say "1. Both start the same job at once. The second one waits, and says for whom."
typed web1 run --reason "nightly import" order-42 -- ./job.sh
on web1 run --reason "nightly import" order-42 -- sh -c "$job" job web1 4 & first=$!
until_journal "begin web1"
typed web2 run order-42 -- ./job.sh
on web2 run order-42 -- sh -c "$job" job web2 1 & second=$!
sleep 1.5

say "2. Meanwhile: who has it?"
typed admin inspect order-42
"$DLOCK" inspect order-42 | sed 's/^/  /'
"$DLOCK" inspect -q order-42 || wrong "the lock is not held"
typed admin list
"$DLOCK" list | sed 's/^/  /'
typed admin run --nonblock order-42 -- ./job.sh
on admin run -n order-42 -- false & refused=$!
ends_with 75 "$refused"
echo "  exit status 75: busy, nothing was run"

say "3. web1 ends, web2 goes on at once."
ends_with 0 "$first"
ends_with 0 "$second"
sed 's/^/  journal: /' "$JOURNAL"
[ "$(cut -d ' ' -f 1,2 "$JOURNAL" | xargs)" = "begin web1 end web1 begin web2 end web2" ] ||
  wrong "the two jobs overlapped"
"$DLOCK" inspect order-42 | sed 's/^/  /'

say "4. Taking it away: the holder stops its job first, then the lock is free."
typed web1 run --ttl 3s order-42 -- ./long-job.sh
on web1 run --ttl 3s order-42 -- sh -c "$job" job long 60 & holder=$!
until_journal "begin long"
typed admin force-release --yes order-42
"$DLOCK" force-release --yes order-42 2>&1 | sed 's/^/  admin | /'
ends_with 79 "$holder"
echo "  web1's exit status: 79"

say "5. Redis hangs: web1 cannot renew, and stops its job before the lease of 3 seconds can end."
typed web1 run --ttl 3s --kill-after 500ms order-42 -- ./long-job.sh
on web1 run --ttl 3s --kill-after 500ms order-42 -- sh -c "$job" job hung 60 & holder=$!
until_journal "begin hung"
kill -STOP "$server"
ends_with 79 "$holder"
kill -CONT "$server"
echo "  web1's exit status: 79"

say "That was all; the server and its folder are removed. More: man -l man/dlock.1"
