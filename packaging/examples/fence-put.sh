#!/bin/sh
# An object that a stale holder cannot replace, in a store with conditional PUT (If-Match on the
# ETag, as in S3). FILE is put at URL unless a larger fencing token has been there; then this ends
# with 1 and changes nothing.
#   dlock run report -- ./fence-put.sh https://bucket.example/report report.txt
# The token is the first line of the object. It has to be part of the content: where the ETag is
# made from the content, the same text under a newer token would otherwise have the same ETag.
set -eu
case ${DLOCK_TOKEN:?run this below dlock run} in *[!0-9]*) exit 64 ;; esac
url=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
{ echo "fence $DLOCK_TOKEN" && cat "$2"; } >"$dir/new"

http() { curl -sS --max-time 30 -w '%{http_code}' "$@" "$url"; }

while :; do
  case $(http -D "$dir/head" -o "$dir/old") in
    200)
      seen=$(sed -n '1s/^fence //p' "$dir/old")
      condition="If-Match: $(tr -d '\r' <"$dir/head" | sed -n 's/^[Ee][Tt][Aa][Gg]: *//p')"
      ;;
    404) seen=0 condition='If-None-Match: *' ;;
    *) echo "cannot read $url" >&2 && exit 69 ;;
  esac
  [ "${seen:-0}" -le "$DLOCK_TOKEN" ] || { echo "refused: a newer holder has written" >&2; exit 1; }
  case $(http -o /dev/null -T "$dir/new" -H "$condition") in
    20?) exit 0 ;;
    409 | 412) ;; # another writer was faster: compare again
    *) echo "cannot write $url" >&2 && exit 69 ;;
  esac
done
