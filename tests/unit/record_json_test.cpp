// SPDX-License-Identifier: MIT
#include "store/record_json.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace dlock {

using namespace std::chrono_literals;

namespace {

HoldRecord some_record() {
  return {.id = "o#s",
          .who = {.host = "db1", .pid = 42, .user = "alice", .command = "./job", .reason = "CI 7"},
          .token = 1'700'000'000'000'001,
          .since_ms = 1'700'000'000'000,
          .ttl = 30s};
}

// As acquire.lua writes it.
std::string record_text() {
  return R"({"token":1700000000000001,"since_ms":1700000000000,)" +
         holder_json(some_record().who, some_record().ttl).substr(1);
}

StoredLease some_lease() {
  StoredLease lease{.name = "a/b \xff", .boot_id = "b-1", .state = {}};
  lease.state.owner = "o";
  lease.state.expires = Time(123456789ns);
  lease.state.token = 77;
  lease.state.revoked_by = "bob@ops";
  lease.state.holds.emplace("s", some_record());
  return lease;
}

}  // namespace

TEST_CASE("a holder is one flat object in a fixed order") {
  CHECK(
      holder_json(some_record().who, 30s) ==
      R"({"host":"db1","pid":42,"user":"alice","command":"./job","reason":"CI 7","ttl_ms":30000})");
}

TEST_CASE("a record comes back as it was") {
  const auto record = parse_hold_record("o#s", record_text());
  REQUIRE(record.has_value());
  CHECK(record->id == "o#s");
  CHECK(record->who.host == "db1");
  CHECK(record->who.pid == 42);
  CHECK(record->who.user == "alice");
  CHECK(record->who.command == "./job");
  CHECK(record->who.reason == "CI 7");
  CHECK(record->token == 1'700'000'000'000'001);
  CHECK(record->since_ms == 1'700'000'000'000);
  CHECK(record->ttl == 30s);
}

TEST_CASE("what is no JSON object is no record") {
  for (const char* text :
       {"", "x", "7", "null", "[]", "\"a\"", "{", "{}}", "{\"pid\":}", "\xff\xfe"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_hold_record("o#s", text).has_value());
  }
}

TEST_CASE("a huge or deeply nested record is no record, and costs little") {
  CHECK_FALSE(parse_hold_record("o#s", "{\"host\":\"" + std::string(1 << 20, 'x') + "\"}"));
  CHECK_FALSE(parse_hold_record("o#s", std::string(60'000, '[')).has_value());
  CHECK_FALSE(parse_hold_record("o#s", std::string(30'000, '[') + std::string(30'000, ']')));
}

TEST_CASE("fields that are missing or of a wrong type get their defaults") {
  const auto empty = parse_hold_record("o#s", "{}");
  REQUIRE(empty.has_value());
  CHECK(empty->who.pid == 0);
  CHECK(empty->token == 0);
  CHECK(empty->ttl == 0s);
  const auto wrong =
      parse_hold_record("o#s",
                        R"({"host":7,"pid":"x","user":null,"command":[],"reason":{},)"
                        R"("token":-1,"since_ms":1.5e300,"ttl_ms":true})");
  REQUIRE(wrong.has_value());
  CHECK(wrong->who.host.empty());
  CHECK(wrong->who.pid == 0);
  CHECK(wrong->token == 0);
  CHECK(wrong->since_ms == 0);
  CHECK(wrong->ttl == 0s);
}

TEST_CASE("numbers out of range are dropped, long texts are cut") {
  const auto record =
      parse_hold_record("o#s",
                        R"({"ttl_ms":9223372036854775807,"token":18446744073709551615,)"
                        R"("pid":99999999999999999999,"command":")" +
                            std::string(999, 'x') + "\"}");
  REQUIRE(record.has_value());
  CHECK(record->ttl == 0s);
  CHECK(record->token == 0);
  CHECK(record->who.pid == 0);
  CHECK(record->who.command.size() <= 200);
}

TEST_CASE("a number that a script wrote as a float is read") {
  CHECK(parse_hold_record("o#s", R"({"token":1.7e+15})")->token == 1'700'000'000'000'000);
}

TEST_CASE("bytes that are not UTF-8 become a replacement character") {
  HolderInfo who = some_record().who;
  who.command = "a\xff\xc3";
  const std::string json = holder_json(who, 1s);
  CHECK(json.find("a\xef\xbf\xbd") != std::string::npos);
  CHECK(parse_hold_record("o#s", json).has_value());
}

TEST_CASE("control characters and quotes come back through escapes, in one line") {
  HolderInfo who = some_record().who;
  who.reason = "\"\\\n\x1b\t\x01";
  const std::string json = holder_json(who, 1s);
  CHECK(json.find('\n') == std::string::npos);
  CHECK(json.find('\x1b') == std::string::npos);
  CHECK(parse_hold_record("o#s", json)->who.reason == who.reason);
}

TEST_CASE("a stored lease comes back as it was, its name byte for byte") {
  const auto lease = parse_stored_lease(stored_lease_json(some_lease()));
  REQUIRE(lease.has_value());
  CHECK(lease->name == "a/b \xff");
  CHECK(lease->boot_id == "b-1");
  CHECK(lease->state.owner == "o");
  CHECK(lease->state.expires == Time(123456789ns));
  CHECK(lease->state.token == 77);
  CHECK(lease->state.revoked_by == "bob@ops");
  REQUIRE(lease->state.holds.count("s") == 1);
  CHECK(lease->state.holds.at("s").id == "o#s");
  CHECK(lease->state.holds.at("s").ttl == 30s);
}

TEST_CASE("a stored lease without one of its fields is damaged, not free") {
  const std::string whole = stored_lease_json(some_lease());
  for (const char* field : {"name", "boot_id", "owner", "expires_ns", "token", "holds"}) {
    CAPTURE(field);
    std::string text = whole;
    text.replace(text.find(std::string("\"") + field + "\""), 2, "\"_");
    CHECK_FALSE(parse_stored_lease(text).has_value());
  }
  for (const char* text : {"", "{}", "[]", R"({"name":"a"})"}) {
    CHECK_FALSE(parse_stored_lease(text).has_value());
  }
}

TEST_CASE("no change of a few bytes makes the readers throw or crash") {
  std::mt19937 random(7);
  const std::string record = record_text();
  const std::string lease = stored_lease_json(some_lease());
  for (int i = 0; i < 5000; ++i) {
    for (std::string text : {record, lease}) {
      for (auto changes = 1 + random() % 4; changes > 0; --changes) {
        text[random() % text.size()] = static_cast<char>(random() % 256);
      }
      if (random() % 4 == 0) text.resize(random() % text.size());
      (void)parse_hold_record("o#s", text);
      (void)parse_stored_lease(text);
    }
  }
}

}  // namespace dlock
