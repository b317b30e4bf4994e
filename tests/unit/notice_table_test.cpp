// SPDX-License-Identifier: MIT
#include "cmd/notice_table.hpp"

#include <doctest/doctest.h>

#include "unit/held.hpp"

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

TEST_CASE("a lock that was freed for a dead holder names that holder, as a warning") {
  const Notice freed{.kind = Notice::Kind::reclaimed, .which = 0, .holding = test::held()};
  CHECK(notice_text(freed, "n") ==
        "freed n of deploy@ci-4 pid 812: that run is dead, with all of its processes");
  CHECK(form_of(freed).level == LogLevel::warn);
}

TEST_CASE("renew has a sentence of its own where a run would stop its command") {
  using Kind = Notice::Kind;
  const std::string why = "no answer";
  CHECK(renew_text({.kind = Kind::lost, .holding = Holding{}}, "n") == "lost n: it is free");
  CHECK(renew_text({.kind = Kind::revoked, .text = "root@b"}, "n") ==
        "n was revoked by root@b; the lease is not renewed; run dlock release");
  CHECK(renew_text({.kind = Kind::unreachable, .text = why}, "n") ==
        "cannot renew n: no answer; trying again");
  CHECK(renew_text({.kind = Kind::lapsing, .text = why}, "n") ==
        "cannot renew n: no answer; the lease expires");
  CHECK(renew_text({.kind = Kind::lapsing}, "n") == "the lease of n expired before a renewal");
  const Notice renewed{.kind = Kind::renewed, .span = std::chrono::seconds(20)};
  CHECK(renew_text(renewed, "n") == "renewed n, lease good for 20s");
  CHECK(renew_text(renewed, "n") == notice_text(renewed, "n"));
}

}  // namespace dlock
