// SPDX-License-Identifier: MIT
#include "store/sql/lock_row.hpp"

#include "store/sql/four_columns.hpp"
#include "store/state_json.hpp"

#include <doctest/doctest.h>

#include "lease_words.hpp"

namespace dlock::lease_table {

namespace {

// Returns a moment of a server: its wall clock is also the clock of leases.
Moment at_server(std::int64_t us) {
  return {.sent_at = Time(1s), .now = StoreTime(std::chrono::microseconds(us)), .wall_us = us};
}
constexpr std::int64_t k_s = 1'000'000;

StoredLock taken(const Claim& claim, std::int64_t us) {
  StoredLock state;
  const auto reply = acquire({&state}, claim, at_server(us));
  REQUIRE(std::holds_alternative<Grant>(*reply));
  return state;
}
std::string json_of(const StoredLock& state) {
  return state_file_json({"a", {}, state});
}
sql::LockColumns of_shedlock(std::int64_t since_us, std::int64_t until_us) {
  return {.lock_until_us = until_us, .locked_at_us = since_us, .locked_by = "app1"};
}

}  // namespace

TEST_CASE("a row: what dlock wrote is read as it was, held or free") {
  StoredLock state = taken(claim_of("p", "t"), k_wall_us);
  const auto columns = sql::columns_of(state, at_server(k_wall_us));
  CHECK(columns.locked_by == "alice@db1 pid 7");
  CHECK(columns.locked_at_us == k_wall_us);
  CHECK(columns.lock_until_us == k_wall_us + 10 * k_s);
  auto read = sql::lock_of("a", json_of(state), columns);
  REQUIRE(read);
  CHECK(read->leases.contains("p"));
  CHECK_FALSE(read->foreign);
  make_free(state);
  const auto free = sql::columns_of(state, at_server(k_wall_us + 1));
  CHECK(free.locked_by.empty());
  CHECK(free.locked_at_us == 0);
  // Also if the clock was set back since.
  read = sql::lock_of("a", json_of(state), free);
  REQUIRE(read);
  CHECK_FALSE(is_live(*read, StoreTime(std::chrono::microseconds(k_wall_us - k_s))));
}

TEST_CASE("a row: the end has whole seconds, later for a lease and earlier for a free lock") {
  StoredLock state = taken(claim_of("p", "t"), k_wall_us + 1);
  CHECK(sql::columns_of(state, at_server(k_wall_us + 1)).lock_until_us == k_wall_us + 11 * k_s);
  make_free(state);
  CHECK(sql::columns_of(state, at_server(k_wall_us + k_s - 1)).lock_until_us == k_wall_us);
}

TEST_CASE("a row: the holder's column is ASCII and no longer than the column") {
  HoldRecord hold;
  hold.who = {.host = std::string(300, 'h'), .pid = 7, .user = "jörg", .command = "", .reason = ""};
  const std::string text = sql::holder_column(hold);
  CHECK(text.starts_with("j??rg@hhh"));
  CHECK(text.size() <= 120);
}

TEST_CASE("a row: times that no clock shows are taken for the first or the last one") {
  const std::int64_t latest = lease_table::k_latest_ms * 1000;
  CHECK(sql::time_at({"1700000000000000"}, 0) == 1700000000000000);
  CHECK(sql::time_at({"9223372036854775807"}, 0) == latest);
  CHECK(sql::time_at({"-9223372036854775808"}, 0) == 0);
  CHECK(sql::time_at({std::nullopt}, 0) == 0);
  CHECK(sql::time_at({}, 5) == 0);
  const auto line = sql::line_of({{"7", "a#b", "9223372036854775807", "{}"}});
  CHECK(line.at(0).alive_until.time_since_epoch() == std::chrono::microseconds(latest));
  const auto foreign = sql::foreign_hold({.lock_until_us = latest, .locked_by = "app1"});
  CHECK(*foreign.until > lease_table::StoreTime());
}

TEST_CASE("a row: an answer of another shape than was asked for is none") {
  CHECK(sql::has_shape({}, 1, 2));
  CHECK(sql::has_shape({{"a", "b"}}, 1, 2));
  CHECK_FALSE(sql::has_shape({{"a"}}, 1, 2));
  CHECK_FALSE(sql::has_shape({{"a", "b"}, {"a", "b"}}, 1, 2));
  CHECK_FALSE(sql::has_shape({{"a", "b"}, {"a"}}, 2, 2));
  CHECK(sql::only_number({{"42", "7"}}) == 42);
  for (const sql::Table& table :
       std::vector<sql::Table>{{}, {{}}, {{std::nullopt}}, {{"4x"}}, {{""}}, {{"4"}, {"5"}}})
    CHECK_FALSE(sql::only_number(table).has_value());
  CHECK(sql::only_number({{"99999999999999999999"}}) == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("a row: a damaged state, or that of another name, is no lock") {
  const StoredLock state = taken(claim_of("p", "t"), k_wall_us);
  const auto columns = sql::columns_of(state, at_server(k_wall_us));
  CHECK_FALSE(sql::lock_of("a", "{", columns));
  CHECK_FALSE(sql::lock_of("b", json_of(state), columns));
}

TEST_CASE("a row that ShedLock took is foreign until its end, and the leases before are over") {
  const StoredLock before = taken(claim_of("p", "t"), k_wall_us);
  const auto columns = of_shedlock(k_wall_us + k_s, k_wall_us + 5 * k_s);
  auto state = sql::lock_of("a", json_of(before), columns);
  REQUIRE(state);
  const Moment early = at_server(k_wall_us + 2 * k_s);
  const Hold hold{.name = name_of("a"), .owner = "p", .serial = "t", .ttl = 10s};
  CHECK(renew({&*state}, {hold}, early).verdict == RenewVerdict::lost);
  CHECK(release({&*state}, {hold}, {}, early) == ReleaseVerdict::not_held);
  const auto seen = inspect(*state, early);
  CHECK(seen.kind == Holding::Kind::foreign);
  CHECK(seen.owners.at(0).id == "app1");
  CHECK(seen.lease_left == Duration(3s));
  CHECK(seen.doubt.empty());
  for (const Mode mode : {Mode::plain, Mode::shared, Mode::slots}) {
    const auto reply = acquire({&*state}, claim_as(mode, "q"), early);
    CHECK(std::holds_alternative<Refusal>(*reply));
  }
  // ShedLock sends no message when the lock ends: the waiter looks each second.
  CHECK(look(claim_of("q", "u"), {&*state}, early).again == early.now + 1s);
  // Written again for another reason, it stays what it is.
  CHECK(sql::columns_of(*state, early).locked_by == "app1");
  CHECK(sql::columns_of(*state, early).lock_until_us == columns.lock_until_us);
  const auto reply = acquire({&*state}, claim_of("q", "u"), at_server(k_wall_us + 5 * k_s));
  REQUIRE(std::holds_alternative<Grant>(*reply));
  CHECK(std::get<Grant>(*reply).holds.at(0).token > before.token);
}

TEST_CASE("a foreign hold ends by force-release --now only, and none is meant by an owner") {
  auto state = sql::lock_of("a", "", of_shedlock(k_wall_us, k_wall_us + 5 * k_s));
  REQUIRE(state);
  const Moment moment = at_server(k_wall_us + k_s);
  CHECK(revoke(*state, {.by = "x"}, moment).verdict == RevokeVerdict::not_dlock);
  CHECK(revoke(*state, {.by = "x", .now = true, .if_owner = "p"}, moment).verdict ==
        RevokeVerdict::other_holder);
  CHECK(is_live(*state, moment.now));
  CHECK(revoke(*state, {.by = "x", .now = true}, moment).verdict == RevokeVerdict::deleted);
  CHECK_FALSE(is_live(*state, moment.now));
}

TEST_CASE("a foreign hold that began in the future says that its clock is another") {
  auto state = sql::lock_of("a", "", of_shedlock(k_wall_us + 6 * k_s, k_wall_us + 60 * k_s));
  REQUIRE(state);
  const auto ahead = inspect(*state, at_server(k_wall_us));
  CHECK(ahead.doubt == "its clock is 6s ahead of the server's: does it use usingDbTime()?");
  CHECK(inspect(*state, at_server(k_wall_us + k_s)).doubt.empty());
}

TEST_CASE("four columns: a plain hold, the token of the last one, and a kept one") {
  StoredLock state = taken(claim_of("p:7", "t"), k_wall_us + 1);
  const FencingToken token = state.token;
  auto columns = sql::four_columns_of(state, at_server(k_wall_us + 1));
  CHECK(columns.locked_by == "alice@db1 pid 7 dlock p:7#t " + std::to_string(token));
  StoredLock read = sql::lock_of_four(columns, k_wall_us);
  REQUIRE(read.leases.contains("p:7"));
  const HoldRecord& hold = read.leases.at("p:7").holds.at("t");
  CHECK(hold.token == token);
  CHECK(hold.who.user == "alice");
  CHECK(hold.who.host == "db1");
  CHECK(hold.who.pid == 7);
  CHECK(sql::fits_four_columns(read));
  const Hold held{.name = name_of("a"), .owner = "p:7", .serial = "t", .ttl = 10s};
  CHECK(release({&read}, {held}, {.keep = 5s}, at_server(k_wall_us + k_s)) ==
        ReleaseVerdict::released);
  columns = sql::four_columns_of(read, at_server(k_wall_us + k_s));
  StoredLock kept = sql::lock_of_four(columns, k_wall_us);
  CHECK(is_kept(kept.leases.at("p:7")));
  CHECK(sql::fits_four_columns(kept));
  // The clock was set back, and the times are cut: the next token is larger all the same.
  make_free(kept);
  columns = sql::four_columns_of(kept, at_server(k_wall_us));
  CHECK(columns.locked_by == "free dlock - " + std::to_string(token));
  columns.locked_at_us = 0;
  kept = sql::lock_of_four(columns, k_wall_us);
  CHECK_FALSE(kept.foreign);
  const auto reply = acquire({&kept}, claim_of("q", "u"), at_server(k_wall_us - k_s));
  CHECK(std::get<Grant>(*reply).holds.at(0).token > token);
}

TEST_CASE("four columns do not fit shared holds, nested ones, revocations and successes") {
  CHECK_FALSE(sql::fits_four_columns(taken(claim_as(Mode::shared, "p"), k_wall_us)));
  CHECK_FALSE(sql::fits_four_columns(taken(claim_as(Mode::slots, "p"), k_wall_us)));
  StoredLock state = taken(claim_of("p", "t"), k_wall_us);
  CHECK(sql::fits_four_columns(state));
  StoredLock revoked = state;
  revoked.leases.at("p").revoked_by = "x";
  CHECK_FALSE(sql::fits_four_columns(revoked));
  StoredLock done = state;
  done.success = Success{1, 2};
  CHECK_FALSE(sql::fits_four_columns(done));
  state.leases.at("p").holds.emplace("u", HoldRecord{});
  CHECK_FALSE(sql::fits_four_columns(state));
}

TEST_CASE("four columns: texts that dlock did not write are foreign") {
  for (const char* text : {"app1", "a dlock b", "a dlock b#c x", "a dlock b#c", "x dlock p t 12"}) {
    CAPTURE(text);
    const auto state =
        sql::lock_of_four({.lock_until_us = 9, .locked_at_us = 5, .locked_by = text}, 4);
    CHECK(state.foreign);
    CHECK(state.leases.empty());
    CHECK(state.token == 4);
  }
}

TEST_CASE("four columns: a row just made, whose time was rounded up, puts no token ahead") {
  const auto state = sql::lock_of_four({.lock_until_us = 9, .locked_at_us = 5, .locked_by = {}}, 4);
  CHECK_FALSE(state.foreign);
  CHECK(state.token == 4);
}

}  // namespace dlock::lease_table
