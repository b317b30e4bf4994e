// SPDX-License-Identifier: MIT
// A lock that deploy@ci-4 has held for 2m10s, and one of its records, for tests of texts.
#pragma once

#include "core/lock_store.hpp"

namespace dlock::test {

inline HoldRecord record(std::int64_t since_ms) {
  return {.id = "u:1#s",
          .who = {.host = "ci-4", .pid = 812, .user = "deploy", .command = "job", .reason = ""},
          .token = 5,
          .since_ms = since_ms,
          .ttl = std::chrono::seconds(30)};
}

inline Holding held() {
  Holding holding{.kind = Holding::Kind::lock, .type = "hash"};
  holding.owners = {{"u:1", "1"}};
  holding.owner_count = 1;
  holding.holds = {record(1000)};
  holding.lease_left = std::chrono::seconds(21);
  holding.now_ms = 131000;
  return holding;
}

}  // namespace dlock::test
