#!/bin/sh
# A script that locks itself: a second copy, on this host or another, ends at once with 75.
# It starts itself again, by the shell that it was written for: so it can be called by a path, from
# $PATH, or as "sh self-locking.sh".
# A word, not a variable, says that we are inside: variables outlive the lock in what we start.
[ "${1-}" = --locked ] || exec dlock run -n nightly-report -- sh "$0" --locked "$@"
shift

echo "report: begin (token $DLOCK_TOKEN)"
# ... the work ...
sleep "${1-0}"
echo "report: end"
