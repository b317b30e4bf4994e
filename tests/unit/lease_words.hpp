// SPDX-License-Identifier: MIT
// Helpers for the tests of the lease table: claims, moments, and calls for a single name.
#pragma once

#include "store/table/contender.hpp"
#include "store/table/lease_holding.hpp"
#include "store/table/lease_table.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace dlock::lease_table {

using namespace std::chrono_literals;

inline constexpr std::int64_t k_wall_us = 1'700'000'000'000'000;

inline Moment at(Duration time, std::int64_t wall_us = k_wall_us) {
  return {.sent_at = Time(time) - 1ms, .now = StoreTime(time), .wall_us = wall_us};
}

inline LockName name_of(const char* text) {
  return *LockName::parse(text);
}

inline Claim claim_of(const OwnerId& owner, const HoldSerial& serial, Duration ttl = 10s) {
  return {.names = {name_of("a")},
          .owner = owner,
          .serial = serial,
          .ttl = ttl,
          .who = {.host = "db1", .pid = 7, .user = "alice", .command = "", .reason = ""},
          .ancestors = {}};
}

inline Claim claim_below(const Hold& hold, const OwnerId& owner, const HoldSerial& serial) {
  Claim claim = claim_of(owner, serial);
  claim.ancestors.push_back({"", "a", hold.owner, hold.serial});
  return claim;
}

inline Claim claim_as(Mode mode,
                      const OwnerId& owner,
                      Duration ttl = 10s,
                      std::uint32_t slots = 3) {
  Claim claim = claim_of(owner, "s-" + owner, ttl);
  claim.mode = mode;
  if (mode == Mode::slots) claim.slots = slots;
  return claim;
}

inline Claim below(const Hold& above, Claim claim) {
  claim.ancestors.push_back({"", "a", above.owner, above.serial});
  return claim;
}

// Returns the claim for the names "a" and "b".
inline Claim for_both(Claim claim) {
  claim.names = {name_of("a"), name_of("b")};
  return claim;
}

inline AcquireReply acquire(StoredLock& state, const Claim& claim, const Moment& moment) {
  auto reply = acquire(States{&state}, claim, moment);
  REQUIRE_MESSAGE(reply.has_value(), (reply ? "" : reply.error().text));
  return *reply;
}

inline Hold taken(StoredLock& state, const Claim& claim, const Moment& moment) {
  const AcquireReply reply = acquire(state, claim, moment);
  REQUIRE(std::holds_alternative<Grant>(reply));
  return std::get<Grant>(reply).holds.at(0);
}

inline Refusal busy(StoredLock& state, const Claim& claim, const Moment& moment) {
  const AcquireReply reply = acquire(state, claim, moment);
  REQUIRE(std::holds_alternative<Refusal>(reply));
  return std::get<Refusal>(reply);
}

inline bool is_busy(StoredLock& state, const Claim& claim, const Moment& moment) {
  return std::holds_alternative<Refusal>(acquire(state, claim, moment));
}

inline RenewReply renew(StoredLock& state, const Hold& hold, const Moment& moment) {
  return renew(States{&state}, {hold}, moment);
}

inline RenewReply check(StoredLock& state, const Hold& hold, const Moment& moment) {
  return check(States{&state}, {hold}, moment);
}

inline ReleaseVerdict release(StoredLock& state,
                              const Hold& hold,
                              const Moment& moment,
                              const ReleaseOptions& options = {}) {
  return release(States{&state}, {hold}, options, moment);
}

inline const Lease& lease_of(const StoredLock& state, const OwnerId& owner = "o") {
  REQUIRE(state.leases.contains(owner));
  return state.leases.at(owner);
}

inline RevokeOrder order_by(const std::string& who, bool now = false) {
  return {.by = who, .now = now, .if_owner = {}, .if_token = {}};
}

inline constexpr std::array<Mode, 4> k_all_modes{
    Mode::plain, Mode::exclusive, Mode::shared, Mode::slots};

// Returns what these rows are after one try of a claim that waits in line. The try must be refused.
template <class Row>
std::vector<StoredLock> after_refusal(const std::vector<Row>& rows,
                                      const Claim& claim,
                                      const Moment& moment) {
  std::vector<StoredLock> after = contender::states_of(rows);
  const auto reply = acquire(pointers_to(after), claim, moment, Queueing::listening);
  REQUIRE(reply.has_value());
  REQUIRE(std::holds_alternative<Refusal>(*reply));
  return after;
}

// Returns the ids of the waiters, in the order of their places.
inline std::vector<std::string> ids_of(const Line& line) {
  std::vector<std::string> ids;
  for (const Place& place : line)
    ids.push_back(place.id);
  return ids;
}

}  // namespace dlock::lease_table
