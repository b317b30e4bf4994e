# SPDX-License-Identifier: MIT
# For the suites that move clocks: a server or a dlock that is shown other clocks than the rest of
# the machine. A part of suite.bash.
# shellcheck shell=bash disable=SC2154  # T is set by supervise.bash

# Compiles clock_shim.cpp, once for each test file; sets CLOCK_SHIM_SO.
build_clock_shim() {
  export CLOCK_SHIM_SO=$BATS_FILE_TMPDIR/clock_shim.so
  "${CXX:-c++}" -O1 -shared -fPIC -o "$CLOCK_SHIM_SO" "$PROGRAMS/clock_shim.cpp"
}

# clock WHOSE WORD…: moves the clocks of WHOSE (see clock.py).
clock() { python3 -S "$PROGRAMS/clock.py" "$T/clock-$1" "${@:2}"; }

# with_clocks_of WHOSE PROGRAM COMMAND…: runs COMMAND, a function or a program. All programs in it
# whose names begin with PROGRAM see the clocks of WHOSE.
with_clocks_of() {
  [ -e "$T/clock-$1" ] || clock "$1" true
  local -x LD_PRELOAD=$CLOCK_SHIM_SO CLOCK_SHIM=$T/clock-$1 CLOCK_SHIM_FOR=$2
  "${@:3}"
}

# Skips for a sanitized or static dlock, which cannot use a preloaded library.
needs_dynamic_dlock() {
  ldd "$DLOCK" >/dev/null 2>&1 || skip "a static dlock takes no preloaded library"
  needs_no_sanitizer "wants to be the first library"
}
