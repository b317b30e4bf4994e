#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./dev demo sqlite: two shells, one file, no server: the second waits in line, sees who holds the
# lock, and runs after the first. Everything is in a folder of its own and gone at the end.
# Ends with 1 if anything went otherwise than it says here.
set -euo pipefail
DLOCK=$(realpath "${DLOCK:-build/dev/dlock}")
folder=$(mktemp -d "${TMPDIR:-/tmp}/dlock-demo.XXXXXX")

clean_up() {
  jobs -pr | xargs -r kill -TERM 2>/dev/null || true # only what was started here and still runs
  wait
  rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# The user's own settings must not take effect here.
for name in $(compgen -e | grep -E '^(DLOCK_|REDIS)' || true); do unset "$name"; done
unset CI_JOB_URL BUILDKITE_BUILD_URL CIRCLE_BUILD_URL BUILD_URL GITHUB_RUN_ID
export HOME=$folder XDG_CONFIG_HOME=$folder NO_COLOR=1 DLOCK_URL=sqlite://$folder/locks.db

wrong() { echo "demo: $*" >&2; exit 1; }
until_true() { # COMMAND…
  for _ in {1..200}; do ! "$@" >/dev/null 2>&1 || return 0; sleep 0.05; done
  wrong "not within 10 seconds: $*"
}
is_there() { "$DLOCK" inspect -v backup | grep "$1"; }
from() { sed -u "s/^/  $1 | /"; }
# shellcheck disable=SC2016  # for the job to expand
job='echo "job of $0 begins, token $DLOCK_TOKEN"; sleep "$1"; echo "job of $0 ends"'

echo "1. No server runs; the locks are in one file: DLOCK_URL=$DLOCK_URL"
echo "2. Shell 1 takes the lock: dlock run backup -- ./job.sh"
"$DLOCK" run backup -- sh -c "$job" "shell 1" 2.5 2>&1 | from "shell 1" & first=$!
until_true is_there held
echo "3. Shell 2 wants it, and waits in line."
"$DLOCK" run backup -- sh -c "$job" "shell 2" 0.5 2>&1 | from "shell 2" & second=$!
until_true is_there "1st in line"
echo "4. Who holds it? dlock inspect -v backup"
"$DLOCK" inspect -v backup | sed 's/^/  /' || true
wait "$first" || wrong "the first run ended with $?"
wait "$second" || wrong "the second run ended with $?"
echo "5. The locks are rows of a table: sqlite3 locks.db 'SELECT * FROM dlock' shows them."
[ -z "$("$DLOCK" list)" ] || wrong "a lock is left"
echo "No lock is left."
