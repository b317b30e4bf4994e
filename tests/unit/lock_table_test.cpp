// SPDX-License-Identifier: MIT
// dlock list on a terminal: rows fit the width, and the holder matters most.
#include "cmd/lock_table.hpp"

#include "base/text.hpp"
#include "cmd/display.hpp"

#include <doctest/doctest.h>

#include "unit/held.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::held;

namespace {

std::vector<NamedHolding> two_locks() {
  NamedHolding one{.name = "nightly-backup", .key = "k", .holding = held()};
  one.holding.holds.front().who.host = "ci-4.build.example.org";
  one.holding.holds.front().who.command = "/opt/jobs/backup.sh";
  one.holding.holds.front().who.reason = "nightly import";
  one.holding.waiting = 3;
  NamedHolding other{.name = "db", .key = "k2", .holding = held()};
  other.holding.lease_left = LeaseLeft::at_most(30s);
  return {one, other};
}

}  // namespace

TEST_CASE("locks on a terminal are rows under titles, cut to the width") {
  CHECK(lock_table(two_locks(), 100, true) ==
        "NAME            HOLDER       FOR    LEASE     WAITING  COMMAND\n"
        "nightly-backup  deploy@ci-4  2m10s  21s       3        backup.sh: nightly import\n"
        "db              deploy@ci-4  2m10s  max. 30s           job\n");
  CHECK(lock_table(two_locks(), 60, true) ==
        "NAME            HOLDER       FOR    LEASE     WAITING  COMM…\n"
        "nightly-backup  deploy@ci-4  2m10s  21s       3        back…\n"
        "db              deploy@ci-4  2m10s  max. 30s           job\n");
  CHECK(lock_table(two_locks(), 30, false) ==
        "NAME            HOLDER     ...\n"
        "nightly-backup  deploy@ci-4...\n"
        "db              deploy@ci-4...\n");
  CHECK(lock_table({}, 60, true).empty());
}

TEST_CASE("a name that is very long leaves room for the holder") {
  auto locks = two_locks();
  locks.front().name = std::string(200, 'n');
  const std::string text = lock_table(locks, 60, true);
  CHECK(text.find("nnn…  deploy@ci-4  2m10s") != std::string::npos);
  for (const std::string_view line : split(text, '\n'))
    CHECK(columns_of(line) <= 60);
}

TEST_CASE("how a lock is held has a column where that is not the same for all") {
  auto locks = two_locks();
  locks[0].holding.mode = Mode::slots;
  locks[0].holding.slots = 3;
  locks[0].holding.owner_count = 2;
  locks[1].holding.holds.front().kept = true;
  locks.push_back(
      {.name = "f",
       .key = "f",
       .holding = {
           .kind = Holding::Kind::foreign, .type = "string", .lease_left = LeaseLeft::never()}});
  locks.push_back({.name = "j", .key = "j", .holding = held()});
  locks[3].holding.holds.clear();
  locks[3].holding.lease_left = {};
  CHECK(lock_table(locks, 120, true) ==
        "NAME            HOLDER                   HELD     FOR    LEASE     WAITING  COMMAND\n"
        "nightly-backup  deploy@ci-4 and 1 other  2 of 3   2m10s  21s       3        backup.sh: "
        "nightly import\n"
        "db              deploy@ci-4              kept            max. 30s           job\n"
        "f               string                   foreign         endless            string\n"
        "j               u:1                      alone                              not dlock\n");
}

TEST_CASE("what others wrote is escaped in the table") {
  auto locks = two_locks();
  locks.front().name = "a\x1b[2J";
  locks.front().holding.holds.front().who.reason = "x\ny";
  const std::string text = lock_table(locks, 100, true);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("x\\ny") != std::string::npos);
}

TEST_CASE("text is broken at spaces into rows, with an indent, and no word is cut or lost") {
  CHECK(wrapped("a: held by deploy@ci-4 for 2m\n  owner x\n", 20) ==
        "a: held by\n    deploy@ci-4 for\n    2m\n  owner x\n");
  CHECK(wrapped("  hold by deploy@ci-4, command \"a  b\"\n", 24) ==
        "  hold by deploy@ci-4,\n      command \"a  b\"\n");
  CHECK(wrapped("aaaaaaaaaa bb\n", 5) == "aaaaaaaaaa\n    bb\n");
  CHECK(wrapped("", 5).empty());
}

}  // namespace dlock
