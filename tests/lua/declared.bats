#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: where a server allows a script only the keys that are named (Dragonfly, ElastiCache
# Serverless), plain locks, writers, several names and the line work, and readers and slots are refused.
load ../support/suite
suite server empty lua

# strictly CALL…: on a server that refuses undeclared keys.
strictly() {
  local script
  (
    # shellcheck disable=SC2030  # only here
    export BATS_FILE_TMPDIR=$BATS_TEST_TMPDIR/strict
    mkdir -p "$BATS_FILE_TMPDIR"
    for script in acquire renew release leave revoke inspect; do
      {
        cat <<'LUA'
local server, declared = redis, {}
for _, key in ipairs(KEYS) do declared[key] = true end
local function check(command, ...)
  if command == 'TIME' or command == 'PUBLISH' or command == 'INFO' then return end
  local several = command == 'DEL' or command == 'EXISTS'
  for i = 1, several and select('#', ...) or 1 do
    local key = select(i, ...)
    if not declared[key] then return {err = 'script tried accessing undeclared key, key: ' .. key} end
  end
end
local redis = setmetatable({
  call = function(...)
    local bad = check(...)
    return bad and error(bad.err, 0) or server.call(...)
  end,
  pcall = function(...) return check(...) or server.pcall(...) end,
}, {__index = server})
LUA
        script_text $script
      } >"$BATS_FILE_TMPDIR/$script.$PLACE.lua"
    done
    "$@"
  )
}

plainly() { "$@"; }

@test "undeclared keys refused: plain locks, writers, several names and the line work" {
  local way
  for way in plainly writing; do
    r flushall >/dev/null
    run -0 strictly "$way" acquire a:1 s 60000
    assert_line -n 0 granted
    run -0 strictly "$way" acquire a:1 t 60000 a:1 s # nested
    assert_line -n 0 granted
    run -0 strictly "$way" renew a:1 s
    assert_line -n 0 renewed
    run -0 strictly "$way" stand b:1 s
    assert_line -n 0 busy
    run -0 strictly inspect
    run -0 strictly revoke ann@h 0 a:1
    run -0 strictly "$way" release a:1 t
    run -0 strictly "$way" release a:1 s
    assert_line -n 0 released
    run -0 strictly "$way" stand b:1 s
    assert_line -n 0 granted
    run -0 strictly "$way" release b:1 s
    assert_line -n 0 released
    run -0 strictly "$way" stand c:1 s
    run -0 strictly leave c:1 s
  done
  r flushall >/dev/null
  # shellcheck disable=SC2034  # for lua.bash
  NAMES=(n m)
  run -0 strictly acquire a:1 s
  assert_line -n 0 granted
  run -0 strictly release a:1 s
  assert_output "released released"
}

@test "undeclared keys refused: readers and slots are refused with the key, and no lock is left" {
  local way
  for way in shared "slots 2"; do
    r flushall >/dev/null
    # shellcheck disable=SC2086  # words
    run strictly $way acquire a:1 s
    assert_output --partial "undeclared key, key: $(lease a:1)"
    assert_equal "$(r exists "$K")" 0
    # What is left of such a try is in nobody's way.
    run -0 strictly acquire b:1 s
    assert_line -n 0 granted
  done
}
