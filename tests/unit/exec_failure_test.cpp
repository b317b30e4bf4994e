// SPDX-License-Identifier: MIT
#include "cmd/exec_failure.hpp"

#include <doctest/doctest.h>

#include <cerrno>

#include "support/has.hpp"

namespace dlock {

using test::has;

TEST_CASE("a command that PATH does not have is not found; a file that is not there is no file") {
  CHECK(exec_failure(ENOENT, {"nosuch", "x"}) == "cannot execute \"nosuch\": command not found");
  CHECK(exec_failure(ENOENT, {"./nosuch"}) ==
        "cannot execute \"./nosuch\": no such file or directory");
  CHECK(exec_failure(EACCES, {"nosuch"}) == "cannot execute \"nosuch\": permission denied");
}

TEST_CASE("a second name that was taken for the command is told to be written with --and") {
  CHECK(exec_failure(ENOENT, {"account-9", "--", "./transfer.sh"}) ==
        "cannot execute \"account-9\": command not found; for a second lock write --and account-9");
  CHECK(has(exec_failure(ENOENT, {"a\x1b[2J", "--"}), "--and a\\x1b[2J"));
  CHECK_FALSE(has(exec_failure(ENOENT, {"nosuch", "x", "--", "y"}), "--and"));
  CHECK_FALSE(has(exec_failure(EACCES, {"account-9", "--", "x"}), "--and"));
}

TEST_CASE("a line for the shell that was taken for one word is told to be given by -c") {
  for (const char* line : {"a | b", "a b", "a;b", "./a >b", "$a", "a&&b", "`a`", "a\tb"}) {
    CAPTURE(line);
    CHECK(has(exec_failure(ENOENT, {line}), "; to have a shell run a line, write: dlock run -c"));
  }
  CHECK_FALSE(has(exec_failure(ENOENT, {"a b", "c"}), "-c"));
  CHECK_FALSE(has(exec_failure(ENOENT, {"a-b_c.d:e=1"}), "-c"));
  CHECK_FALSE(has(exec_failure(EACCES, {"a b"}), "-c"));
}

}  // namespace dlock
