#!/bin/sh
# A file that a stale holder cannot replace: standard input becomes FILE, unless a larger fencing
# token has been there; then this ends with 1 and changes nothing.
#   dlock run report -- sh -c 'make-report | ./fence-rename.sh report.html'
# flock makes comparing and renaming one step; it is held for that moment only. FILE.fence goes
# first: a crash between the two leaves the old text under the newer token, which is safe.
# Everyone who writes FILE has to do it this way.
set -eu
case ${DLOCK_TOKEN:?run this below dlock run} in *[!0-9]*) exit 64 ;; esac
file=$1
new=$file.$DLOCK_TOKEN.$$
trap 'rm -f "$new" "$new.fence"' EXIT
cat >"$new" # the slow part, before the step

exec 9>>"$file.lock"
flock 9
seen=0
[ ! -e "$file.fence" ] || seen=$(cat "$file.fence")
[ "$seen" -le "$DLOCK_TOKEN" ] || { echo "refused: a newer holder has written" >&2; exit 1; }
echo "$DLOCK_TOKEN" >"$new.fence"
mv "$new.fence" "$file.fence"
mv "$new" "$file"
