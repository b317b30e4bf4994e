#!/bin/sh
# A row that a stale holder cannot overwrite: the database compares the fencing token in the very
# statement that writes. Ends with 1 when a larger token has been there, and changes nothing.
#   sqlite3 shop.db 'CREATE TABLE report (id INTEGER PRIMARY KEY, body TEXT, fence INTEGER)'
#   sqlite3 shop.db 'INSERT INTO report VALUES (7, NULL, 0)'
#   dlock run report-7 -- ./fence-sql.sh shop.db 'the new text'
# In another database the statement is the same; its client tells how many rows were changed.
set -eu
case ${DLOCK_TOKEN:?run this below dlock run} in *[!0-9]*) exit 64 ;; esac
body=$(printf '%s' "$2" | sed "s/'/''/g")

changed=$(sqlite3 -bail -cmd '.timeout 30000' "$1" "
  UPDATE report SET body = '$body', fence = $DLOCK_TOKEN
   WHERE id = 7 AND fence <= $DLOCK_TOKEN;
  SELECT changes();")

[ "$changed" = 1 ] || { echo "refused: a newer holder has written" >&2; exit 1; }
