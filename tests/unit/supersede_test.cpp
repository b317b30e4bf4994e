// SPDX-License-Identifier: MIT
// --supersede: its word in records.
#include "store/record_json.hpp"

#include <doctest/doctest.h>

#include <string>

namespace dlock {

using namespace std::chrono_literals;

namespace {

HolderInfo some_holder() {
  return {.host = "db1", .pid = 42, .user = "alice", .command = "./job"};
}

}  // namespace

TEST_CASE("a record says which runs its run may end, and by which it may be ended") {
  for (const Supersede what : {Supersede::waiting, Supersede::holder}) {
    HolderInfo who = some_holder();
    who.supersede = what;
    const std::string member = R"("supersede":")" + std::string(supersede_word(what)) + '"';
    CHECK(holder_json(who, 1s).find(member) != std::string::npos);
    CHECK(parse_hold_record("o#s", holder_json(who, 1s))->who == who);
    CHECK(parse_waiter(waiter_json({.who = who}))->who == who);
  }
  CHECK(parse_hold_record("o#s", R"({"supersede":"all"})")->who.supersede == Supersede::nothing);
}

}  // namespace dlock
