// SPDX-License-Identifier: MIT
// Which holds renew and release refer to, and what they find about these holds.
#include "cmd/own_holds.hpp"

#include "app/hold_variables.hpp"
#include "cmd/claim.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "support/memory_store.hpp"

namespace dlock {

using namespace std::chrono_literals;

namespace {

LockName name(const std::string& text) {
  return *LockName::parse(text);
}

Time soon() {
  return BootClock::now() + 5s;
}

// A store of its own for each test, and DLOCK_HOLDS as it is told.
class InheritedHolds {
 public:
  InheritedHolds() { ::unsetenv("DLOCK_HOLDS"); }
  InheritedHolds(const InheritedHolds&) = delete;
  InheritedHolds& operator=(const InheritedHolds&) = delete;
  ~InheritedHolds() { ::unsetenv("DLOCK_HOLDS"); }

  static void inherit(const std::vector<AncestorHold>& entries) {
    ::setenv("DLOCK_HOLDS", format_holds(entries).c_str(), 1);
  }
  Holds take(const std::string& lock, const std::string& command, Mode mode = Mode::plain) {
    const OwnerId owner = make_owner_id(1);
    auto reply = store.acquire({.names = {name(lock)},
                                .owner = owner,
                                .serial = serial_of(owner),
                                .ttl = 30s,
                                .who = {.command = command},
                                .mode = mode},
                               Queueing::no,
                               soon());
    REQUIRE(reply);
    REQUIRE(std::holds_alternative<Grant>(*reply));
    return std::get<Grant>(*reply).holds;
  }
  MemoryStore store{std::make_shared<MemoryServer>()};
};

WantedHold wanted(const Holds& holds) {
  return {holds.front().name, holds.front().owner, holds.front().serial};
}

CommandLine line_for(const std::vector<std::string>& names) {
  CommandLine line;
  line.names = names;
  return line;
}

}  // namespace

TEST_CASE(
    "the hold of a command is the nearest one of that name in that store, or the given owner's") {
  InheritedHolds here;
  CommandLine line = line_for({"a"});
  auto none = wanted_holds(line, here.store);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::bad_usage);
  CHECK(none.error().text.find("DLOCK_HOLDS") != std::string::npos);
  CHECK(none.error().text.find("--owner") != std::string::npos);

  InheritedHolds::inherit({{"memory:", "a", "o:1", "s1"},
                           {"memory:", "a", "o:2", "s2"},
                           {"memory:", "b", "o:3", "s3"},
                           {"redis://h", "a", "o:4", "s4"}});
  auto nearest = wanted_holds(line_for({"a", "b"}), here.store);
  REQUIRE(nearest);
  CHECK(nearest->at(0).owner == "o:2");
  CHECK(nearest->at(0).serial == "s2");
  CHECK(nearest->at(1).owner == "o:3");
  CHECK_FALSE(wanted_holds(line_for({"a", "c"}), here.store));

  line.owner = "6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57";
  auto told = wanted_holds(line, here.store);
  REQUIRE(told);
  CHECK(told->at(0).owner == *line.owner);
  CHECK(told->at(0).serial == "a9a552f0d3c4b5a69");
  line.owner = "o:5#s5";
  told = wanted_holds(line, here.store);
  REQUIRE(told);
  CHECK(told->at(0).owner == "o:5");
  CHECK(told->at(0).serial == "s5");
  for (const char* const bad : {"", "o:5", "#s", "o#"}) {
    line.owner = bad;
    CHECK_FALSE(wanted_holds(line, here.store));
  }
}

TEST_CASE("a hold is found with its mode, a lost one with the present holder") {
  InheritedHolds here;
  const Holds taken = here.take("a", "acquire", Mode::shared);
  auto found = find_hold(here.store, wanted(taken), soon());
  REQUIRE(found);
  CHECK(found->hold->mode == Mode::shared);
  auto released = here.store.release({*found->hold}, {}, soon());
  REQUIRE(released);
  CHECK(*released == ReleaseVerdict::released);
  found = find_hold(here.store, wanted(taken), soon());
  REQUIRE(found);
  CHECK(found->holding.kind == Holding::Kind::none);

  here.take("a", "sh");
  found = find_hold(here.store, wanted(taken), soon());
  REQUIRE(found);
  CHECK(found->holding.kind == Holding::Kind::lock);
  CHECK_FALSE(found->hold);
}

TEST_CASE("several owners belong to the names in order; one owner belongs to all names") {
  InheritedHolds here;
  const OwnerId first = make_owner_id(1);
  const OwnerId second = make_owner_id(2);
  CommandLine line = line_for({"a", "b"});
  line.owner = first;
  auto told = wanted_holds(line, here.store);
  REQUIRE(told);
  CHECK(told->at(0).owner == first);
  CHECK(told->at(1).owner == first);
  line.owner = first + " " + second + "#s";
  told = wanted_holds(line, here.store);
  REQUIRE(told);
  CHECK(told->at(0).owner == first);
  CHECK(told->at(0).serial == serial_of(first));
  CHECK(told->at(1).owner == second);
  CHECK(told->at(1).serial == "s");
  for (const std::string& bad :
       {first + " x", first + " " + first + " " + second, std::string(" ")}) {
    CAPTURE(bad);
    line.owner = bad;
    told = wanted_holds(line, here.store);
    REQUIRE_FALSE(told);
    CHECK(told.error().code == Errc::bad_usage);
  }
  line.names = {"a"};
  line.owner = first + " " + second;
  CHECK_FALSE(wanted_holds(line, here.store));
}

TEST_CASE("only runs count as levels, once for all names of a run: an acquire kills no process") {
  const InheritedHolds here;
  CHECK(nesting() == 0);
  const HoldSerial run = make_hold_serial();
  const HoldSerial below = make_hold_serial();
  std::vector<AncestorHold> entries{
      {"memory:", "a", "o:1", run}, {"memory:", "b", "o:1", run}, {"memory:", "c", "o:2", below}};
  for (int i = 0; i < 20; ++i) {
    const OwnerId owner = make_owner_id(1);
    entries.push_back({"memory:", "n" + std::to_string(i), owner, serial_of(owner)});
  }
  InheritedHolds::inherit(entries);
  CHECK(nesting() == 2);
}

TEST_CASE(
    "one of many shared holders can be released, though the store does not list all of them") {
  InheritedHolds here;
  std::vector<Holds> all;
  for (int i = 0; i < 70; ++i)
    all.push_back(here.take("a", "acquire", Mode::shared));
  for (const Holds& holds : all) {
    auto found = find_hold(here.store, wanted(holds), soon());
    REQUIRE(found);
    auto released = here.store.release({*found->hold}, {}, soon());
    REQUIRE(released);
    CHECK(*released == ReleaseVerdict::released);
  }
  CHECK(here.store.inspect(name("a"), soon())->kind == Holding::Kind::none);
}

TEST_CASE("the environment variables that describe a hold") {
  Hold hold{.name = name("a b"), .owner = "o:1", .serial = "s", .token = 7, .ttl = 30s, .who = {}};
  const auto text = [](const Holds& holds) {
    std::string out;
    for (const Variable& one : hold_variables(holds))
      out += one.name + "=" + one.value + "|";
    return out;
  };
  CHECK(text({hold}) ==
        "DLOCK_NAME=a b|DLOCK_OWNER=o:1|DLOCK_TOKEN=7|DLOCK_TTL_MS=30000|DLOCK_MODE=plain|");
  hold.mode = Mode::slots;
  hold.slot = 0;
  Hold other = hold;
  other.name = name("c%");
  other.token = 9;
  other.slot = 4;
  CHECK(text({hold, other}) ==
        "DLOCK_NAME=a%20b c%25|DLOCK_OWNER=o:1 o:1|DLOCK_TOKEN=7 9|DLOCK_TTL_MS=30000|"
        "DLOCK_MODE=slots|DLOCK_SLOT=0 4|");
  hold.token = 0;  // of a store without fencing tokens
  CHECK(text({hold}) ==
        "DLOCK_NAME=a b|DLOCK_OWNER=o:1|DLOCK_TTL_MS=30000|DLOCK_MODE=slots|DLOCK_SLOT=0|");
  hold.token = 7;
  for (const Variable& one : hold_variables({hold}))
    CHECK(is_hold_variable(one.name));
  for (const char* ours : {"DLOCK_HELD", "DLOCK_EXPIRES", "DLOCK_HOLDS"})
    CHECK(is_hold_variable(ours));
  CHECK_FALSE(is_hold_variable("DLOCK_URL"));
  CHECK_FALSE(is_hold_variable("DLOCK_SLOTS"));
}

}  // namespace dlock
