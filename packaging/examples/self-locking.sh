#!/bin/sh
# A script that locks itself: a second copy, on this host or another, ends at once with 75.
# Call it by a path (./self-locking.sh), because it starts itself again.
[ "${DLOCK_NAME-}" = nightly-report ] || exec dlock run -n nightly-report -- "$0" "$@"

echo "report: begin (token $DLOCK_TOKEN)"
# ... the work ...
sleep "${1-0}"
echo "report: end"
