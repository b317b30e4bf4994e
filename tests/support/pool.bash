# SPDX-License-Identifier: MIT
# Tests of --or that are the same for each store, with $DLOCK_URL. A part of suite.bash, to be named
# after cli and supervise.
# shellcheck shell=bash disable=SC2016,SC2154

# One of three names: the rest stay free; in a row all are given out, then the next run waits.
one_of_several() {
  local name
  mkdir "$T/got"
  for i in 1 2 3; do
    dlock_run "pool$i" --ttl 15s --or b --or c a -- sh -c \
      'echo "$DLOCK_TOKEN" >"$0/got/new"; mv "$0/got/new" "$0/got/$DLOCK_NAME"; until [ -e "$0/done" ]; do sleep 0.02; done' "$T"
    eventually 10s pool_has "$i"
  done
  assert_equal "$(cd "$T/got" && echo *)" "a b c"
  for name in a b c; do [ "$(cat "$T/got/$name")" -gt 0 ]; done
  run -75 --separate-stderr "$DLOCK" run -n --or b --or c a -- touch "$MARKER"
  assert_stderr_has ' and 2 others are busy: held by '
  dlock_run waiter -w 60 --or b --or c a -- sh -c 'echo "$DLOCK_NAME"'
  touch "$T/done"
  ends 20s waiter "exit 0"
  for i in 1 2 3; do ends 10s "pool$i" "exit 0"; done
  run -0 "$DLOCK" run b -- "$DLOCK" run -n --or b --or c a -- sh -c 'echo "$DLOCK_NAME"'
  assert_output b
  run -0 "$DLOCK" list
  assert_output ""
  assert_not_started
}
pool_has() { [ "$(find "$T/got" -name '[abc]' | wc -l)" = "$1" ]; }

# refuses_one_of WHY: checks that this store cannot take one of several names, and says so.
refuses_one_of() {
  run -64 --separate-stderr "$DLOCK" run --or b a -- touch "$MARKER"
  assert_stderr_has "does not support one of several locks (--or)$1"
  assert_not_started
}
