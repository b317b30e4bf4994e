#!/bin/sh
# SPDX-License-Identifier: MIT
# in_container.sh id|clock|both COMMAND…: COMMAND, as this process, with what container runtimes give:
# a boot id of its own (systemd-nspawn), a clock of its own (a time namespace), or both.
kind=$1
shift
[ "$kind" = id ] || clock="-T --boottime ${AHEAD:-100000}"
# shellcheck disable=SC2016,SC2086  # for the inner shell; words
exec unshare -m ${clock:-} sh -c '
  if [ "$0" != clock ]; then
    file=$(mktemp) && cat /proc/sys/kernel/random/uuid >"$file" || exit 125
    mount --bind "$file" /proc/sys/kernel/random/boot_id || exit 125
    rm "$file"
  fi
  exec "$@"' "$kind" "$@"
