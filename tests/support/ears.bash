# SPDX-License-Identifier: MIT
# Shared by tests/lua: waiters that are subscribed to their turns, and long lines. A test that uses
# them has to end the processes in EARS.
# shellcheck shell=bash

# ears OWNER…: each listens for its turns (serial s), so it is alive.
ears() {
  local who
  for who; do
    redis-cli -s "$REDIS_SOCKET" subscribe "$TURN$who#s" >"$BATS_TEST_TMPDIR/heard-$who" 3>&- &
    EARS+=($!)
  done
  for who; do eventually 5s grep -qs subscribe "$BATS_TEST_TMPDIR/heard-$who"; done
}
# heard OWNER: the words that reached it; after a message of our own, so that none is on the way.
heard() {
  r publish "$TURN$1#s" end >/dev/null
  eventually 5s grep -qx end "$BATS_TEST_TMPDIR/heard-$1"
  grep -xE 'turn|next|wait' "$BATS_TEST_TMPDIR/heard-$1" | xargs
}
# queue OWNER…: each with ears, behind the holder h:1, in this order.
queue() {
  local who
  acquire h:1 s >/dev/null
  ears "$@"
  for who; do stand "$who" s >/dev/null; done
}
# life OWNER [polls]: for how many ms from now it is believed to live.
life() {
  r eval 'local t = redis.call("TIME")
    return tonumber(redis.call("ZSCORE", KEYS[1], ARGV[1])) - t[1] * 1000 - math.floor(t[2] / 1000)' \
    1 "$W" "$(waiter "$1" s "${@:2}")"
}
# fill COUNT LIFE [polls]: that many others stand in line, alive for LIFE ms from now.
fill() {
  r eval 'local t = redis.call("TIME")
    for i = 1, ARGV[1] do
      local who = string.format("{\"id\":\"f:%d#s\",%s\"host\":\"h\",\"pid\":1}", i, ARGV[3])
      redis.call("ZADD", KEYS[1], i, who)
      redis.call("ZADD", KEYS[2], t[1] * 1000 + ARGV[2], who)
    end' 2 "$L" "$W" "$1" "$2" "${3:+\"polls\":true,}" >/dev/null
}
