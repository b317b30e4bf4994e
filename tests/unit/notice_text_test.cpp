// SPDX-License-Identifier: MIT
#include "cmd/notice_text.hpp"

#include <doctest/doctest.h>

namespace dlock {

TEST_CASE("a failover is one line: where the lock is held now, or that it was lost by it") {
  const Holding free_now{};
  const std::string there = "redis://b:1/0";
  CHECK(notice_text({.kind = Notice::Kind::moved, .text = there, .before = "redis://a:1/0"}, "n") ==
        "the master of n is now redis://b:1/0 (was redis://a:1/0); the lock is still held there");
  CHECK(notice_text({.kind = Notice::Kind::lost, .text = there, .holding = free_now}, "n") ==
        "lost n in a failover: redis://b:1/0 became master without it; stopping the command");
  CHECK(notice_text({.kind = Notice::Kind::lost, .holding = free_now}, "n") ==
        "lost n: it is free; stopping the command");
}

}  // namespace dlock
