# SPDX-License-Identifier: MIT
# Shared by tests/lua: waiters that are subscribed to their turns, and long lines. A test that uses
# them has to end the processes in SUBSCRIBERS.
# shellcheck shell=bash

# subscribe OWNER…: each subscribes to its turns (serial s), which shows that it is alive.
subscribe() {
  local who
  for who; do
    redis-cli -s "$REDIS_SOCKET" subscribe "$TURN$who#s" >"$BATS_TEST_TMPDIR/received-$who" 3>&- &
    SUBSCRIBERS+=($!)
  done
  for who; do eventually 5s grep -qs subscribe "$BATS_TEST_TMPDIR/received-$who"; done
}
# received OWNER: prints the messages to OWNER. It sends a message of its own and waits for that, so
# that no message is on the way any more.
received() {
  r publish "$TURN$1#s" end >/dev/null
  eventually 5s grep -qx end "$BATS_TEST_TMPDIR/received-$1"
  grep -xE 'turn|next|wait' "$BATS_TEST_TMPDIR/received-$1" | xargs
}
# queue OWNER…: makes h:1 the holder; then each OWNER subscribes and joins the line, in this order.
queue() {
  local who
  acquire h:1 s >/dev/null
  subscribe "$@"
  for who; do stand "$who" s >/dev/null; done
}
# life OWNER [polls]: prints for how many ms from now the waiter counts as alive.
life() {
  r eval 'local t = redis.call("TIME")
    return tonumber(redis.call("ZSCORE", KEYS[1], ARGV[1])) - t[1] * 1000 - math.floor(t[2] / 1000)' \
    1 "$W" "$(waiter "$1" s "${@:2}")"
}
# fill COUNT LIFE [polls]: puts COUNT other waiters into the line, which count as alive for LIFE ms
# from now.
fill() {
  r eval 'local t = redis.call("TIME")
    for i = 1, ARGV[1] do
      local who = string.format("{\"id\":\"f:%d#s\",%s\"host\":\"h\",\"pid\":1}", i, ARGV[3])
      redis.call("ZADD", KEYS[1], i, who)
      redis.call("ZADD", KEYS[2], t[1] * 1000 + ARGV[2], who)
    end' 2 "$L" "$W" "$1" "$2" "${3:+\"polls\":true,}" >/dev/null
}
