// SPDX-License-Identifier: MIT
#include "cmd/exec_failure.hpp"

#include <doctest/doctest.h>

#include <cerrno>

#include "support/has.hpp"

namespace dlock {

using test::has;

TEST_CASE(
    "exec errors: a command that is not in PATH is not found; a path that does not exist is no "
    "file") {
  CHECK(exec_failure(ENOENT, {"nosuch", "x"}) == "cannot execute \"nosuch\": command not found");
  CHECK(exec_failure(ENOENT, {"./nosuch"}) ==
        "cannot execute \"./nosuch\": no such file or directory");
  CHECK(exec_failure(EACCES, {"nosuch"}) == "cannot execute \"nosuch\": permission denied");
}

TEST_CASE("exec errors: a second name in the place of the command suggests --and") {
  CHECK(exec_failure(ENOENT, {"account-9", "--", "./transfer.sh"}) ==
        "cannot execute \"account-9\": command not found; for a second lock write --and account-9");
  CHECK(has(exec_failure(ENOENT, {"a\x1b[2J", "--"}), "--and a\\x1b[2J"));
  CHECK_FALSE(has(exec_failure(ENOENT, {"nosuch", "x", "--", "y"}), "--and"));
  CHECK_FALSE(has(exec_failure(EACCES, {"account-9", "--", "x"}), "--and"));
}

TEST_CASE("exec errors: a shell line given as one word suggests -c") {
  for (const char* line : {"a | b", "a b", "a;b", "./a >b", "$a", "a&&b", "`a`", "a\tb"}) {
    CAPTURE(line);
    CHECK(has(exec_failure(ENOENT, {line}), "; to have a shell run a line, write: dlock run -c"));
  }
  CHECK_FALSE(has(exec_failure(ENOENT, {"a b", "c"}), "-c"));
  CHECK_FALSE(has(exec_failure(ENOENT, {"a-b_c.d:e=1"}), "-c"));
  CHECK_FALSE(has(exec_failure(EACCES, {"a b"}), "-c"));
}

}  // namespace dlock
