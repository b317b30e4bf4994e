# SPDX-License-Identifier: MIT
# Sourced by tests that need packages which only a package registry has. The ordinary tool of the
# registry fetches the packages into a folder below build/. The folder is used again as long as the
# list of its packages stays the same.
# shellcheck shell=bash

# in_time COMMAND…: runs a tool, and ends it if it would wait for ever. The tool itself repeats a
# request where it can.
in_time() { timeout --foreground -k 10 "${FETCH_LIMIT:-600}" "$@"; }

# ready PLACE SOURCES COMMAND…: runs COMMAND, which fills the folder PLACE, unless that was done
# before from the same SOURCES (a text). If a registry does not answer, COMMAND is repeated after
# longer and longer pauses. PLACE.log has its output.
ready() {
  local place=$1
  [ "$(cat "$place/made-from" 2>/dev/null)" != "$2" ] || return 0
  mkdir -p "${place%/*}"
  echo "fetching ${place##*/}"
  persist 5 20 60 anew "$place" "${@:3}" >"$place.log" 2>&1 </dev/null &&
    echo "$2" >"$place/made-from"
}
# anew PLACE COMMAND…: runs COMMAND with PLACE as an empty folder.
anew() { rm -rf "$1" && mkdir "$1" && "${@:2}"; }

# persist SECONDS SECONDS SECONDS COMMAND…: runs COMMAND until it succeeds, at most four times, with
# these pauses.
persist() {
  local pause
  for pause in "${@:1:3}"; do
    ! "${@:4}" || return 0
    sleep "$pause"
  done
  "${@:4}"
}
