#!/bin/sh
# A script that locks itself: a second copy, on this host or another, ends at once with 75.
# Call it by a path (./self-locking.sh), because it starts itself again.
# A word, not a variable, says that we are inside: variables outlive the lock in what we start.
[ "${1-}" = --locked ] || exec dlock run -n nightly-report -- "$0" --locked "$@"
shift

echo "report: begin (token $DLOCK_TOKEN)"
# ... the work ...
sleep "${1-0}"
echo "report: end"
