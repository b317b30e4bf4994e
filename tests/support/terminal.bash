# SPDX-License-Identifier: MIT
# Shared by cli suites: dlock on a pseudo terminal.
# shellcheck shell=bash disable=SC2154  # status, output and stderr are set by run

play() { run --separate-stderr timeout 60 python3 -S "$PROGRAMS/pty_run.py" "$@" 3>&-; }

played() {  # the play went through
  [ "$status" -eq "${1:-0}" ] || { echo "status $status"; echo "$output" | tail -30; echo "$stderr"; return 1; }
}
says() { [[ $output == *"$1"* ]] || { echo "not there: $1"; echo "$output" | cat -v | tail -40; return 1; }; }
never_says() { [[ $output != *"$1"* ]] || { echo "there: $1"; echo "$output" | cat -v | tail -40; return 1; }; }
