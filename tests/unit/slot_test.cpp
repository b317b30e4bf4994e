// SPDX-License-Identifier: MIT
#include "store/redis/slot.hpp"

#include "store/redis/redis_keys.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace dlock {
namespace {

TEST_CASE("the slot of a key is the one that a cluster computes") {
  CHECK(slot_of("123456789") == 12739);  // the check value of the specification, 0x31C3
  CHECK(slot_of("foo") == 12182);
  CHECK(slot_of("") == 0);
  CHECK(slot_of("\xff\xfe") == slot_of("{\xff\xfe}x"));
  CHECK(slot_of("{user1000}.following") == slot_of("user1000"));
  CHECK(slot_of("foo{{bar}}zap") == slot_of("{bar"));
  CHECK(slot_of("foo{bar}{zap}") == slot_of("bar"));
  CHECK(hashed_part("foo{}{bar}") == "foo{}{bar}");
  CHECK(hashed_part("foo{bar") == "foo{bar");
}

TEST_CASE("all keys of a name without braces, or with a hash tag, are in one slot") {
  for (const char* key : {"dlock:x", "{t}", "dlock:{t}x", "a{b}c", "a{b}{c}", "a{{b}}", "{a}}b"}) {
    CAPTURE(key);
    CHECK(in_one_slot(Keys(key)));
  }
}

TEST_CASE("braces that are no hash tag put the keys of a name into several slots") {
  for (const char* key : {"dlock:a{b", "a}b{c", "{}z", "x{}y", "}{", "}x", "a}b"}) {
    CAPTURE(key);
    CHECK_FALSE(in_one_slot(Keys(key)));
  }
}

TEST_CASE("the keys of a random name are in one slot exactly if its hash tag is the same in all") {
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same names each time
  for (int round = 0; round < 5000; ++round) {
    std::string key;
    for (auto n = random() % 7; n > 0; --n)
      key += "ab{}"[random() % 4];
    const Keys keys(key);
    CAPTURE(key);
    // Different parts may share a slot by chance, but not in 5000 names.
    CHECK(in_one_slot(keys) == (hashed_part(keys.lock) == hashed_part(keys.token) &&
                                hashed_part(keys.lock) == hashed_part(keys.holds)));
  }
}

}  // namespace
}  // namespace dlock
