// SPDX-License-Identifier: MIT
#include "core/names.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

namespace dlock {

TEST_CASE("a lock name is 1 to 512 bytes of anything but NUL and line breaks") {
  CHECK(LockName::parse("order-42")->text() == "order-42");
  CHECK(LockName::parse(std::string(512, 'x')).has_value());
  CHECK(LockName::parse("\x01 \xff {}").has_value());
  for (const std::string& text : {std::string(),
                                  std::string(513, 'x'),
                                  std::string("a\0b", 3),
                                  std::string("a\nb"),
                                  std::string("a\r")}) {
    const auto name = LockName::parse(text);
    REQUIRE_FALSE(name.has_value());
    CHECK(name.error().code == Errc::bad_usage);
    CHECK(name.error().text.find('\n') == std::string::npos);
  }
}

TEST_CASE("names are compared by bytes") {
  CHECK(*LockName::parse("a") == *LockName::parse("a"));
  CHECK_FALSE(*LockName::parse("a") == *LockName::parse("A"));
  CHECK_FALSE(*LockName::parse("\xc3\xa4") == *LockName::parse("a\xcc\x88"));  // two forms of ä
}

TEST_CASE("an owner id is a version 4 UUID and the process id") {
  const OwnerId id = make_owner_id(4711);
  REQUIRE(id.size() == 36 + 5);
  CHECK(id.substr(36) == ":4711");
  for (const std::size_t at : {8U, 13U, 18U, 23U})
    CHECK(id[at] == '-');
  CHECK(id[14] == '4');
  CHECK(std::string("89ab").find(id[19]) != std::string::npos);
  CHECK(std::all_of(id.begin(), id.begin() + 36, [](char c) {
    return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  }));
}

TEST_CASE("owner ids and serials do not repeat") {
  std::set<std::string> seen;
  for (int i = 0; i < 100'000; ++i) {
    CHECK(seen.insert(make_owner_id(1)).second);
    CHECK(seen.insert(make_hold_serial()).second);
  }
  CHECK(make_hold_serial().size() == 16);
  CHECK(hold_id("o", "s") == "o#s");
}

TEST_CASE("the owner of an acquire contains its serial") {
  CHECK(serial_of("6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:4711") == "a9a552f0d3c4b5a69");
  CHECK(serial_of("6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69") == "a9a552f0d3c4b5a69");
  for (const char* none : {"",
                           "57",
                           "nobody:57",
                           "6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a6",
                           "6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69x57",
                           "6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57x",
                           "6f1c2a1e-8d0b-4b7e-9a55-2f0d3c4b5a69:57 x",
                           "------------------------------------"}) {
    CAPTURE(none);
    CHECK(serial_of(none).empty());
  }
  std::set<HoldSerial> serials;
  for (int i = 0; i < 1000; ++i)
    serials.insert(serial_of(make_owner_id(1)));
  CHECK(serials.size() == 1000);
}

TEST_CASE("the serial tells a hold of acquire from one of a run") {
  CHECK(is_of_acquire(serial_of(make_owner_id(1))));
  CHECK_FALSE(is_of_acquire(make_hold_serial()));
  CHECK_FALSE(is_of_acquire("kept"));
  CHECK_FALSE(is_of_acquire(""));
}

TEST_CASE("inherited holds are read as they were written") {
  const std::vector<AncestorHold> holds{{"redis://db1:6379/0", "dlock:order-42", "u:1", "0011"},
                                        {"local:///run/lock dir", "a|b %\xff\n", "u:2", "0022"}};
  const std::string text = format_holds(holds);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(std::count(text.begin(), text.end(), ' ') == 1);
  CHECK(parse_holds(text) == holds);
  CHECK(parse_holds("").empty());
  CHECK(format_holds({}).empty());
}

TEST_CASE("malformed entries of inherited holds are ignored") {
  CHECK(parse_holds("a a|b a|b|c a|b|c|d|e ||| a|b|c|d").size() == 1);
}

TEST_CASE("of many inherited holds the nearest are kept, as many as an environment can carry") {
  std::vector<AncestorHold> holds(100, {"s", std::string(2000, 'k'), "o", ""});
  for (std::size_t i = 0; i < holds.size(); ++i)
    holds[i].serial = std::to_string(i);
  const auto kept = parse_holds(format_holds(holds));
  CHECK(format_holds(holds).size() <= 100'000);
  REQUIRE(kept.size() == 49);
  CHECK(kept.front().serial == "51");
  CHECK(kept.back().serial == "99");
  std::string text;
  for (int i = 0; i < 2000; ++i)
    text += "s|k|o|" + std::to_string(i) + ' ';
  CHECK(parse_holds(text).size() == 1024);
  CHECK(parse_holds(text).back().serial == "1999");
}

TEST_CASE("names: one name is written as it is, several as a list that can be split") {
  const LockName plain = *LockName::parse("50% of a\tb");
  const LockName umlaut = *LockName::parse("b\xc3\xa4r/1");
  CHECK(join_names({plain}) == "50% of a\tb");
  CHECK(join_names({plain, umlaut}) == "50%25%20of%20a%09b b\xc3\xa4r/1");
}

}  // namespace dlock
