#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Promise: a minority of hostile servers of a quorum costs a run nothing, and a majority starts nothing.
# shellcheck disable=SC2154  # T, STARTED and MARKER are set elsewhere
load ../support/suite
suite cli supervise replicas quorum

# pours N…: in the place of these servers one that answers without an end.
pours() {
  local n
  for n; do kill_member "$n" && rm -f "$T/$n.sock"; done
  python3 - "$PROJECT/tests/hostile" "${@/#/$T/}" 3>&- <<'EOF' &
import socket, sys, threading
sys.path.insert(0, sys.argv[1])
import redis
act = dict(redis.ROWS)["answers without an end"]
def play(conn):
    try:
        act(conn)
    except OSError:
        pass
def serve(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path + ".sock")
        listener.listen()
        while True:
            threading.Thread(target=play, args=(listener.accept()[0],), daemon=True).start()
for path in sys.argv[2:]:
    threading.Thread(target=serve, args=(path,)).start()
EOF
  STARTED+=($!)
  for n; do eventually 10s test -S "$T/$n.sock"; done
}

# bats test_tags=nightly
@test "one of three servers pours out answers: a run goes as without it; all three: 69" {
  local before
  start_quorum 3
  pours 2
  before=$(boot_ms)
  run -0 "$DLOCK" run --ttl 4s -k 200ms a -- sleep 2
  [ $(($(boot_ms) - before)) -lt 4000 ]
  run -0 "$DLOCK" run -n a -- "$DLOCK" run -n a -- true
  pours 0 1
  run -69 timeout 10 "$DLOCK" --connect-timeout 2s run -n a -- touch "$MARKER"
  assert_not_started
}
