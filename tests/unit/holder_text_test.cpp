// SPDX-License-Identifier: MIT
// How a holder is described to users; control characters in its data are escaped.
#include "cmd/holder_text.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "unit/held.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::held;
using test::record;

TEST_CASE("a dlock holder: process, host, time held, rest of the lease") {
  Holding holding = held();
  CHECK(holder_text(holding) == "held by deploy@ci-4 pid 812 (job) for 2m10s, lease 21s left");
  holding.holds.front().who.reason = "nightly import";
  CHECK(holder_text(holding) ==
        "held by deploy@ci-4 pid 812 (job) for 2m10s, lease 21s left: nightly import");
  holding.revoked_by = "ann@desk";
  CHECK(holder_text(holding) ==
        "held by deploy@ci-4 pid 812 (job) for 2m10s, lease 21s left, revoked by ann@desk: nightly "
        "import");
}

TEST_CASE("a lease that was seen a while ago is shown unless it may have been renewed since") {
  Holding holding = held();  // a third of its 30 s after the renewal the next one is due
  holding.lease_left = Duration(29s);
  CHECK(holder_text(holding, 8s) == "held by deploy@ci-4 pid 812 (job) for 2m18s, lease 21s left");
  CHECK(holder_text(holding, 9s) == "held by deploy@ci-4 pid 812 (job) for 2m19s");
  CHECK(holder_text(holding, 1min) == "held by deploy@ci-4 pid 812 (job) for 3m10s");
  holding.lease_left = Duration(18s);
  CHECK(holder_text(holding) == "held by deploy@ci-4 pid 812 (job) for 2m10s, lease 18s left");
  CHECK(holder_text(holding, 1s) == "held by deploy@ci-4 pid 812 (job) for 2m11s");
}

TEST_CASE("the lease of a holder that renews no more is counted down to its end") {
  Holding holding = held();
  holding.lease_left = Duration(16s);
  CHECK(holder_text(holding, 15s) == "held by deploy@ci-4 pid 812 (job) for 2m25s, lease 1s left");
  CHECK(holder_text(holding, 16s) == "held by deploy@ci-4 pid 812 (job) for 2m26s");
}

TEST_CASE("a lease with a known bound is shown with it, however long ago it was seen") {
  Holding holding = held();
  holding.lease_left = LeaseLeft::at_most(30s);
  for (const Duration ago : {Duration(0s), Duration(3s)})
    CHECK(holder_text(holding, ago).find(", lease at most 30s left") != std::string::npos);
  holding.holds.front().kept = true;
  CHECK(holder_text(holding) ==
        "kept by deploy@ci-4 pid 812 (job) for at most 30s more (--min-hold)");
}

TEST_CASE("a holder in four columns, which do not say how it renews, is shown as it is seen") {
  Holding holding = held();
  holding.holds.front().ttl = {};
  CHECK(holder_text(holding) == "held by deploy@ci-4 pid 812 (job) for 2m10s, lease 21s left");
  CHECK(holder_text(holding, 1s) == "held by deploy@ci-4 pid 812 (job) for 2m11s");
}

TEST_CASE("of nested holds the first one is shown") {
  Holding holding = held();
  HoldRecord first = record(500);
  first.who.host = "outer";
  holding.holds.push_back(first);
  CHECK(holder_text(holding).find("deploy@outer") != std::string::npos);
}

TEST_CASE("shared holders: the first, and the number of others") {
  Holding holding = held();
  holding.mode = Mode::shared;
  CHECK(holder_text(holding) ==
        "held shared by deploy@ci-4 pid 812 (job) for 2m10s, lease 21s left");
  holding.owner_count = 2;
  CHECK(holder_text(holding) ==
        "held shared by deploy@ci-4 pid 812 (job) for 2m10s and 1 other, lease 21s left");
  holding.owner_count = 3;
  holding.holds.front().who.reason = "reads";
  CHECK(holder_text(holding) ==
        "held shared by deploy@ci-4 pid 812 (job) for 2m10s and 2 others, lease 21s left: reads");
  holding.holds.clear();
  CHECK(holder_text(holding) == "held shared by u:1 (not dlock) and 2 others, lease 21s left");
}

TEST_CASE("an exclusive holder") {
  Holding holding = held();
  holding.mode = Mode::exclusive;
  holding.owner_count = 2;  // its own read holds
  CHECK(holder_text(holding) == "held by deploy@ci-4 pid 812 (job) for 2m10s, lease 21s left");
}

TEST_CASE("slots: how many are held, and the first holder") {
  Holding holding = held();
  holding.mode = Mode::slots;
  holding.slots = 3;
  CHECK(holder_text(holding) ==
        "1 of 3 slots held, by deploy@ci-4 pid 812 (job) for 2m10s, lease 21s left");
  holding.owner_count = 3;
  CHECK(holder_text(holding) ==
        "3 of 3 slots held, by deploy@ci-4 pid 812 (job) for 2m10s and 2 others, lease 21s left");
}

TEST_CASE("a kept lock is shown without a holder") {
  Holding holding = held();
  holding.holds.front().kept = true;
  CHECK(holder_text(holding) == "kept by deploy@ci-4 pid 812 (job) for 21s more (--min-hold)");
  CHECK(holder_text(holding, 11s) == "kept by deploy@ci-4 pid 812 (job) for 10s more (--min-hold)");
  // Whoever runs is told first.
  holding.mode = Mode::shared;
  holding.owner_count = 2;
  HoldRecord running = record(2000);
  running.who.host = "ci-5";
  holding.holds.push_back(running);
  CHECK(holder_text(holding) ==
        "held shared by deploy@ci-5 pid 812 (job) for 2m9s and 1 other, lease 21s left");
}

TEST_CASE("the reason why a claim would wait for its own ancestor") {
  Holding holding = held();
  holding.mode = Mode::shared;
  CHECK(self_deadlock_text(holding, Mode::plain) ==
        "held shared by an ancestor of this run: a plain claim would deadlock");
  CHECK(self_deadlock_text(holding, Mode::exclusive) ==
        "held shared by an ancestor of this run: an exclusive claim would deadlock");
  CHECK(self_deadlock_text(holding, Mode::slots) ==
        "held shared by an ancestor of this run: a claim of a slot would deadlock");
  holding.mode = Mode::slots;
  holding.slots = 3;
  CHECK(self_deadlock_text(holding, Mode::plain) ==
        "held as one of 3 slots by an ancestor of this run: a plain claim would deadlock");
  CHECK(self_deadlock_text(holding, Mode::shared) ==
        "held as one of 3 slots by an ancestor of this run: a shared claim would deadlock");
  CHECK(self_deadlock_text(holding, Mode::slots) ==
        "held as one of 3 slots by an ancestor of this run: a claim with another number of slots "
        "would deadlock");
  holding.mode = Mode::plain;
  CHECK(self_deadlock_text(holding, Mode::slots) ==
        "held by an ancestor of this run: a claim of a slot would deadlock");
}

TEST_CASE("a holder that is not dlock is shown by its owner") {
  Holding holding = held();
  holding.holds.clear();
  CHECK(holder_text(holding) == "held by u:1 (not dlock), lease 21s left");
  holding.owners.clear();
  CHECK(holder_text(holding) == "held by ? (not dlock), lease 21s left");
}

TEST_CASE("a foreign lock without expiry is something else than one of unknown lease") {
  Holding holding{.kind = Holding::Kind::foreign, .type = "string"};
  CHECK(holder_text(holding) == "held by a foreign lock (string)");
  holding.lease_left = LeaseLeft::never();
  CHECK(holder_text(holding) == "held by a foreign lock (string), without expiry");
  CHECK(holder_text(holding, 1min) == "held by a foreign lock (string), without expiry");
  holding.lease_left = Duration(500ms);
  CHECK(holder_text(holding) == "held by a foreign lock (string), lease 500ms left");
  CHECK(holder_text(Holding{}) == "free");
}

TEST_CASE("a clock of the store that jumped does not make an age negative") {
  Holding holding = held();
  holding.now_ms = 0;
  CHECK(holder_text(holding).find("for 0ms") != std::string::npos);
}

TEST_CASE("foreign text is escaped in every place") {
  const std::string evil = "x\x1b[2J\n\u202ey";
  for (const auto& put : std::vector<void (*)(Holding&, const std::string&)>{
           [](Holding&h, const std::string&s) { h.holds.front().who.host = s; },
           [](Holding&h, const std::string&s) { h.holds.front().who.user = s; },
           [](Holding&h, const std::string&s) { h.holds.front().who.reason = s; },
           [](Holding&h, const std::string&s) { h.revoked_by = s; },
           [](Holding&h, const std::string&s) {
             h.holds.clear();
             h.owners.front().id = s;
           },
           [](Holding&h, const std::string&s) {
             h.kind = Holding::Kind::foreign;
             h.type = s;
           }}) {
    Holding holding = held();
    put(holding, evil);
    const std::string text = holder_text(holding);
    CHECK(text.find("x\\x1b[2J\\n\\u202ey") != std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  }
}

TEST_CASE("places are counted as people do") {
  for (const auto& [number, text] :
       std::vector<std::pair<std::uint64_t, std::string>>{{1, "1st"},
                                                          {2, "2nd"},
                                                          {3, "3rd"},
                                                          {4, "4th"},
                                                          {10, "10th"},
                                                          {11, "11th"},
                                                          {12, "12th"},
                                                          {13, "13th"},
                                                          {20, "20th"},
                                                          {21, "21st"},
                                                          {22, "22nd"},
                                                          {101, "101st"},
                                                          {111, "111th"},
                                                          {112, "112th"},
                                                          {113, "113th"},
                                                          {1000, "1000th"},
                                                          {1003, "1003rd"}}) {
    CHECK(ordinal(number) == text);
  }
}

TEST_CASE("a lock that is free, and the waiter that has the turn") {
  Holding holding;
  CHECK(holder_text(holding) == "free");
  holding.waiting = 2;
  CHECK(holder_text(holding) == "free, reserved for the first waiter");
}

TEST_CASE("of a command only the file name is shown") {
  Holding holding = held();
  holding.holds.front().who.command = "/opt/jobs/backup.sh";
  CHECK(holder_text(holding) ==
        "held by deploy@ci-4 pid 812 (backup.sh) for 2m10s, lease 21s left");
  holding.holds.front().who.command = "";
  CHECK(holder_text(holding) == "held by deploy@ci-4 pid 812 for 2m10s, lease 21s left");
}

}  // namespace dlock
