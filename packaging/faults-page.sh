#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Writes the man page dlock-faults(7) to standard output: the rows of tests/faults/rows and, for each,
# the files with the tests that show it. After a change of rows or tests:
#     packaging/faults-page.sh >man/dlock-faults.7
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=/dev/null
. tests/faults/table.bash

title_of() { # LETTER
  case $1 in
    R) echo "The store refuses, forgets or stalls" ;;
    C) echo "Clocks" ;;
    N) echo "The network" ;;
    P) echo "dlock, its guard and the command" ;;
    J) echo "Terminal and job control" ;;
    K) echo "The lock itself" ;;
    F) echo "Replication and cluster" ;;
    Q) echo "Several masters" ;;
    O) echo "Other stores" ;;
  esac
}

head_of_page() {
  sed -n '/^\.TH /{s/DLOCK 1/DLOCK-FAULTS 7/; s/"User Commands"/"Miscellaneous Information"/; p}' man/dlock.1
  cat <<'ROFF'
.SH NAME
dlock-faults \- what dlock does under which fault
.SH DESCRIPTION
This page is for those who ask what happens to a lock and its command when something fails, and whether that was tried.
It has for each fault: its class, what happens, and in which files below
.I tests
in the sources of
.BR dlock (1)
it is brought about.
The names of the tests begin with its number.
.B ./dev test faults
runs them all and prints a verdict for each row.
The classes are those of FAULTS in
.BR dlock\-guarantees (7):
.TP
.B G
guaranteed: never two at a time, and no token goes back;
.TP
.B B
bounded: two may run, for a time given there, then the first one was stopped with 79;
.TP
.B U
not promised: this does happen, and only the fencing token helps;
.TP
.B L
costs time only;
.TP
.B X
the command line, statuses and processes.
.PP
A number is the exit status;
.I unknown
is the state of a lease when an answer did not come: the command goes on, and the clock decides;
.I free
means that the lock is free at once.
.SH FAULTS
ROFF
}

# escaped TEXT: prints it for roff, as one line.
escaped() {
  local text=${1//\\/\\e}
  text=${text//-/\\-}
  printf '%s\n' "${text//\"/\\(dq}"
}
# Text for roff in lines of some length, none of which looks like a request.
roff() { escaped "$1" | fmt -w 95 | sed -E "s/^([.'])/\\\\\&\\1/"; }

row() { # ID CLASS FAULT WHAT NOTE FILES
  local note=$5
  printf '.TP\n.BR %s " (%s) %s"\n' "$1" "$2" "$(escaped "$3")"
  roff "${4%.}."
  case $note in
    pending*) roff "Waits for a later version (${note#pending })." ;;
    "not run: "*) roff "No test: ${note#not run: }." ;;
    ?*) roff "${note^}." ;;
  esac
  [ -z "$6" ] || printf 'See\n.IR "%s" .\n' "$6"
}

# files_of_rows: of lines FILE|NAME, the files of each row as "ID FILE, FILE".
files_of_rows() {
  sed -nE 's,^tests/([^|]*)\|(([A-Z][0-9]{2} ?)+): .*,\1 \2,p' | sed 's/-/\\-/g' | sort -u |
    awk '{ for (i = 2; i <= NF; ++i)
             if (!seen[$i, $1]++) files[$i] = files[$i] (files[$i] == "" ? "" : ", ") $1 }
         END { for (id in files) print id, files[id] }'
}

page() {
  local rows id class fault what note files
  local -A files_of=()
  while read -r id files; do files_of[$id]=$files; done < <(fault_tests | files_of_rows)
  head_of_page
  for rows in R C N P J K F Q O; do
    printf '.SS %s\n' "$(title_of "$rows")"
    while IFS='|' read -r id class fault what note; do
      row "$id" "$class" "$fault" "$what" "$note" "${files_of[$id]:-}"
    done < <(grep -v '^#' "tests/faults/rows/$rows.txt")
  done
  printf '.SH SEE ALSO\n.BR dlock (1),\n.BR dlock\\-guarantees (7)\n'
}

page
