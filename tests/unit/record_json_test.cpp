// SPDX-License-Identifier: MIT
#include "store/record_json.hpp"

#include "store/state_json.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <utility>

#include "support/has.hpp"

namespace dlock {

using namespace std::chrono_literals;
using test::has;

namespace {

HoldRecord some_record() {
  return {.id = "o#s",
          .who = {.host = "db1", .pid = 42, .user = "alice", .command = "./job", .reason = "CI 7"},
          .token = 1'700'000'000'000'001,
          .since_ms = 1'700'000'000'000,
          .ttl = 30s};
}

// Returns a record as acquire.lua writes it.
std::string record_text() {
  return R"({"token":1700000000000001,"since_ms":1700000000000,)" +
         holder_json(some_record().who, some_record().ttl).substr(1);
}

HoldRecord slot_record(std::string id, std::uint32_t slot) {
  HoldRecord record = some_record();
  record.id = std::move(id);
  record.mode = Mode::slots;
  record.slot = slot;
  return record;
}

StateFile some_lease() {
  StateFile lease{.name = "a/b \xff", .stamp = {"b-1", lease_table::StoreTime(9ns)}, .state = {}};
  lease.state.token = 77;
  lease.state.slots = 3;
  lease.state.success = {1000, 61000};
  lease.state.released = {{"q#a0", 3000}, {"r#a1", 4000}};
  lease.state.leases["o"] = {.holds = {{"s", slot_record("o#s", 2)}},
                             .expires = lease_table::StoreTime(123456789ns),
                             .revoked_by = "bob@ops"};
  lease.state.leases["p"] = {.holds = {{"kept", slot_record("p#kept", 0)}},
                             .expires = lease_table::StoreTime(5ns),
                             .revoked_by = {}};
  lease.state.leases["p"].holds.at("kept").kept = true;
  return lease;
}

std::optional<StateFile> read_with(const std::string& what, const std::string& instead) {
  std::string text = state_file_json(some_lease());
  const auto found = text.find(what);
  REQUIRE(found != std::string::npos);
  return parse_state_file(text.replace(found, what.size(), instead));
}

// A lease as older versions of dlock wrote it: a name had one owner.
const std::string k_old_lease =
    R"({"name":"a","boot_id":"b-1","owner":"o","expires_ns":123456789,"token":77,)"
    R"("holds":{"s":{"token":77,"since_ms":5,"host":"db1","pid":42,"ttl_ms":30000}},)"
    R"("revoked_by":"bob@ops"})";

}  // namespace

TEST_CASE("a holder is one flat object in a fixed order") {
  CHECK(
      holder_json(some_record().who, 30s) ==
      R"({"host":"db1","pid":42,"user":"alice","command":"./job","reason":"CI 7","ttl_ms":30000})");
}

TEST_CASE("a record is read as it was written") {
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

TEST_CASE("of a granted record only the fields of the store are read") {
  for (const std::string& added :
       {std::string(R"("token":77,"since_ms":5)"),
        std::string(R"("token":77,"since_ms":5,"mode":"slots","slot":3)")}) {
    HoldRecord asked = some_record();
    asked.who.command = R"(x,"host":,"token":1)";
    const std::string json = "{" + added + "," + holder_json(asked.who, 30s).substr(1);
    const auto whole = parse_hold_record("o#s", json);
    const auto granted = parse_granted_record("o#s", json);
    REQUIRE(whole.has_value());
    REQUIRE(granted.has_value());
    CHECK(granted->id == "o#s");
    CHECK(granted->token == 77);
    CHECK(granted->since_ms == 5);
    CHECK(granted->mode == whole->mode);
    CHECK(granted->slot == whole->slot);
    CHECK(granted->who.host.empty());
  }
  CHECK(parse_granted_record("o#s", R"({"token":77})")->token == 77);
  CHECK_FALSE(parse_granted_record("o#s", R"({"token":,"host":"a"})").has_value());
}

TEST_CASE("a text that is no JSON object is no record") {
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
  CHECK(parse_hold_record("o#s", json)->who.command.starts_with("a\xef\xbf\xbd"));
  CHECK(parse_hold_record("o#s", json).has_value());
}

TEST_CASE("what is written is ASCII, which every database can keep, and read as it was") {
  HolderInfo who = some_record().who;
  who.reason = "\u65e5\u672c \U0001f680 \u00e9";
  const auto is_ascii = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; });
  };
  const std::string json = holder_json(who, 1s);
  CHECK(is_ascii(json));
  CHECK(parse_hold_record("o#s", json)->who.reason == who.reason);
  CHECK(is_ascii(waiter_json({.who = who})));
  CHECK(parse_waiter(waiter_json({.who = who}))->who.reason == who.reason);
  StateFile file = some_lease();
  file.name = who.reason;
  file.state.leases.begin()->second.revoked_by = who.reason;
  CHECK(is_ascii(state_file_json(file)));
  CHECK(parse_state_file(state_file_json(file))->name == who.reason);
}

TEST_CASE("a record of a later layout is known as such, and nothing else of it is read") {
  CHECK(layout_of(R"({"layout":2,"token":7})") == 2);
  for (const char* json : {"{}", "[2]", "2", "", R"({"layout":"2"})", R"({"layout":1})"})
    CHECK(layout_of(json) == 1);
  CHECK_FALSE(parse_hold_record("o#s", R"({"layout":2,"token":7})").has_value());
  CHECK_FALSE(parse_waiter(R"({"layout":2})").has_value());
  CHECK(parse_hold_record("o#s", R"({"layout":1,"token":7})")->token == 7);
  const auto file = parse_state_file(R"({"layout":2,"name":"a%20b","boot_id":"x","leases":[]})");
  REQUIRE(file.has_value());
  CHECK(file->name == "a b");
  CHECK(file->state.layout == 2);
  CHECK(lease_table::is_live(file->state, lease_table::StoreTime::max()));
  CHECK(state_file_json(some_lease()).find("layout") == std::string::npos);
}

TEST_CASE("control characters and quotes survive writing and reading, in one line") {
  HolderInfo who = some_record().who;
  who.reason = "\"\\\n\x1b\t\x01";
  const std::string json = holder_json(who, 1s);
  CHECK(json.find('\n') == std::string::npos);
  CHECK(json.find('\x1b') == std::string::npos);
  CHECK(parse_hold_record("o#s", json)->who.reason == who.reason);
}

TEST_CASE("a record says its mode unless it is plain, its slot, and that it is kept") {
  const auto mode_of = [](const std::string& fields) {
    return parse_hold_record("o#s", R"({"token":1,"since_ms":2,)" + fields + R"("host":"h"})");
  };
  CHECK(mode_of("")->mode == Mode::plain);
  CHECK(mode_of(R"("mode":"write",)")->mode == Mode::exclusive);
  CHECK(mode_of(R"("mode":"shared",)")->mode == Mode::shared);
  CHECK(mode_of(R"("mode":"slots","slot":2,)")->mode == Mode::slots);
  CHECK(mode_of(R"("mode":"slots","slot":2,)")->slot == 2U);
  CHECK_FALSE(mode_of(R"("mode":"slots","slot":-2,)")->slot.has_value());
  CHECK_FALSE(mode_of(R"("mode":"shared","slot":2,)")->slot.has_value());
  CHECK(mode_of(R"("mode":"of tomorrow",)")->mode == Mode::plain);
  CHECK(mode_of(R"("mode":7,)")->mode == Mode::plain);
  CHECK(mode_of(R"("kept":true,)")->kept);
  CHECK_FALSE(mode_of(R"("kept":"true",)")->kept);
  CHECK_FALSE(mode_of("")->kept);
}

TEST_CASE("a stored lease is read as it was written, its name byte for byte") {
  const auto lease = parse_state_file(state_file_json(some_lease()));
  REQUIRE(lease.has_value());
  CHECK(lease->name == "a/b \xff");
  CHECK(lease->stamp.boot_id == "b-1");
  CHECK(lease->stamp.at == lease_table::StoreTime(9ns));
  CHECK(lease->state.token == 77);
  CHECK(lease->state.slots == 3);
  REQUIRE(lease->state.success.has_value());
  CHECK(lease->state.success->since_ms == 1000);
  CHECK(lease->state.success->until_ms == 61000);
  REQUIRE(lease->state.released.size() == 2);
  CHECK(lease->state.released[0].id == "q#a0");
  CHECK(lease->state.released[1].at_ms == 4000);
  REQUIRE(lease->state.leases.size() == 2);
  const auto& one = lease->state.leases.at("o");
  CHECK(one.expires == lease_table::StoreTime(123456789ns));
  CHECK(one.revoked_by == "bob@ops");
  REQUIRE(one.holds.contains("s"));
  CHECK(one.holds.at("s").id == "o#s");
  CHECK(one.holds.at("s").ttl == 30s);
  CHECK(one.holds.at("s").mode == Mode::slots);
  CHECK(one.holds.at("s").slot == 2U);
  CHECK_FALSE(one.holds.at("s").kept);
  const auto& other = lease->state.leases.at("p");
  CHECK_FALSE(other.revoked_by.has_value());
  CHECK(other.holds.at("kept").kept);
}

TEST_CASE("each mode of a stored lease is read as it was written") {
  for (const Mode mode : {Mode::plain, Mode::exclusive, Mode::shared}) {
    StateFile lease = some_lease();
    lease.state.leases.erase("p");
    HoldRecord& record = lease.state.leases["o"].holds.at("s");
    record.mode = mode;
    record.slot.reset();
    const auto again = parse_state_file(state_file_json(lease));
    REQUIRE(again.has_value());
    CHECK(again->state.leases.at("o").holds.at("s").mode == mode);
  }
}

TEST_CASE("records keep the words of every dlock before: an exclusive hold is stored as write") {
  const std::array<std::pair<Mode, std::string>, 4> words{{{Mode::plain, "exclusive"},
                                                           {Mode::exclusive, "write"},
                                                           {Mode::shared, "shared"},
                                                           {Mode::slots, "slots"}}};
  for (const auto& [mode, word] : words) {
    CAPTURE(word);
    CHECK(stored_mode(mode) == word);
    CHECK(parse_stored_mode(word) == mode);
  }
  CHECK_FALSE(parse_stored_mode("plain").has_value());
  StateFile lease = some_lease();
  HoldRecord& record = lease.state.leases["o"].holds.at("s");
  record.slot.reset();
  record.mode = Mode::exclusive;
  CHECK(has(state_file_json(lease), R"("mode":"write")"));
  lease.state.leases.erase("p");
  record.mode = Mode::plain;
  CHECK_FALSE(has(state_file_json(lease), R"("mode")"));
}

TEST_CASE("a lock with more holders than can be read again is not written") {
  StateFile lease = some_lease();
  const lease_table::Lease one = lease.state.leases.begin()->second;
  for (int i = 0; i < 4000; ++i)
    lease.state.leases.emplace("owner" + std::to_string(i), one);
  CHECK(parse_state_file(*state_to_write(lease)).has_value());
  for (int i = 4000; i < 9000; ++i)
    lease.state.leases.emplace("owner" + std::to_string(i), one);
  CHECK(state_to_write(lease).error().code == Errc::refused);
}

TEST_CASE("a stored lease without one of its fields is damaged, not free") {
  for (const char* field : {"name", "expires_ns", "token", "holds", "leases", "slots"}) {
    CAPTURE(field);
    CHECK_FALSE(read_with(std::string("\"") + field + "\"", "\"_\"").has_value());
  }
  for (const char* text : {"", "{}", "[]", R"({"name":"a"})"}) {
    CHECK_FALSE(parse_state_file(text).has_value());
  }
}

TEST_CASE("a stored lease with a time that no clock shows is damaged") {
  const std::string ends = R"("expires_ns":)";
  const std::string text = state_file_json(some_lease());
  const auto at = text.find(ends) + ends.size();
  const std::string was = text.substr(at, text.find_first_of(",}", at) - at);
  CHECK(read_with(ends + was, ends + "9150000000000000000").has_value());
  CHECK_FALSE(read_with(ends + was, ends + "9150000000000000001").has_value());
  CHECK_FALSE(read_with(ends + was, ends + "-1").has_value());
}

TEST_CASE("a stored lease with an unknown mode, slot or holder is damaged") {
  CHECK(read_with(R"("mode":"slots")", R"("mode":"slots")").has_value());
  CHECK_FALSE(read_with(R"("mode":"slots")", R"("mode":"of tomorrow")").has_value());
  CHECK_FALSE(read_with(R"("mode":"slots")", R"("mode":2)").has_value());
  CHECK_FALSE(read_with(R"("slot":2)", R"("slot":3)").has_value());
  CHECK_FALSE(read_with(R"("slot":2)", R"("slot":"2")").has_value());
  CHECK_FALSE(read_with(R"("kept":true)", R"("kept":1)").has_value());
  CHECK_FALSE(read_with(R"("revoked_by":"bob@ops")", R"("revoked_by":7)").has_value());
  StateFile empty = some_lease();
  empty.state.leases["p"].holds.clear();
  CHECK_FALSE(parse_state_file(state_file_json(empty)).has_value());
}

TEST_CASE("a file of an older dlock is read: a lock that is held does not look free") {
  const auto lease = parse_state_file(k_old_lease);
  REQUIRE(lease.has_value());
  CHECK(lease->state.token == 77);
  REQUIRE(lease->state.leases.contains("o"));
  const auto& one = lease->state.leases.at("o");
  CHECK(one.expires == lease_table::StoreTime(123456789ns));
  CHECK(one.revoked_by == "bob@ops");
  CHECK(one.holds.at("s").mode == Mode::plain);
  CHECK(one.holds.at("s").who.pid == 42);
  std::string free = k_old_lease;
  free.replace(free.find(R"("owner":"o")"), 11, R"("owner":"")");
  CHECK(parse_state_file(free)->state.leases.empty());
  CHECK(parse_state_file(free)->state.token == 77);
}

TEST_CASE("a file of an older dlock without one of its fields is damaged, not free") {
  for (const char* field : {"name", "boot_id", "owner", "expires_ns", "token", "holds"}) {
    CAPTURE(field);
    std::string text = k_old_lease;
    text.replace(text.find(std::string("\"") + field + "\""), 2, "\"_");
    CHECK_FALSE(parse_state_file(text).has_value());
  }
}

TEST_CASE(
    "a stored lease without a boot id is a container's, one without a time that of dlock 0.1") {
  StateFile lease = some_lease();
  CHECK(read_with("\"written_ns\":9", "\"_\":9")->stamp.at == std::nullopt);
  CHECK_FALSE(read_with("\"written_ns\":9", "\"written_ns\":\"9\"").has_value());
  lease.stamp.boot_id.clear();
  const std::string text = state_file_json(lease);
  CHECK(text.find("\"boot_id\"") == std::string::npos);  // dlock 0.1 takes it for damaged
  REQUIRE(parse_state_file(text).has_value());
  CHECK(parse_state_file(text)->stamp.boot_id.empty());
  CHECK(parse_state_file(text)->stamp.at == lease.stamp.at);
}

TEST_CASE("an older dlock takes our file for damaged, not for free") {
  CHECK(state_file_json(some_lease()).find("\"owner\"") == std::string::npos);
}

TEST_CASE("no change of a few bytes makes the readers throw or crash") {
  std::mt19937 random(7);
  const std::string record = record_text();
  const std::string lease = state_file_json(some_lease());
  for (int i = 0; i < 5000; ++i) {
    for (std::string text : {record, lease, k_old_lease}) {
      for (auto changes = 1 + random() % 4; changes > 0; --changes) {
        text[random() % text.size()] = static_cast<char>(random() % 256);
      }
      if (random() % 4 == 0) text.resize(random() % text.size());
      (void)parse_hold_record("o#s", text);
      (void)parse_state_file(text);
    }
  }
}

}  // namespace dlock
