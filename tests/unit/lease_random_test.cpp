// SPDX-License-Identifier: MIT
// Random calls in random order on two names: which owners hold a name at the same time, and what a
// call must not change.
#include "store/table/lease_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "unit/lease_words.hpp"

namespace dlock::lease_table {

namespace {

constexpr std::uint32_t k_slots = 3;

// Makes random calls on two names, and checks after each step all that must hold.
class Play {
 public:
  explicit Play(unsigned seed) : random_(seed) {}

  void step() {
    time_ += std::chrono::milliseconds(random_() % 300);
    before_ = states_;
    for (StoredLock& state : before_)
      drop_dead(state, StoreTime(time_));
    touched_.clear();
    shortened_ = false;
    switch (random_() % 8) {
      case 0:
        (void)revoke(states_.at(random_() % 2), some_order(), now());
        break;
      case 1:
      case 2:
        give_back();
        break;
      case 3:
        extend();
        break;
      default:
        claim();
    }
    look();
  }

  std::size_t grants = 0;
  std::size_t beside = 0;  // looks that found several owners

 private:
  Moment now() const { return at(time_, static_cast<std::int64_t>(time_.count() / 1000)); }

  States chosen(const std::vector<LockName>& names) {
    States states;
    for (const LockName& name : names)
      states.push_back(&states_.at(name.text() == "a" ? 0 : 1));
    return states;
  }

  RevokeOrder some_order() {
    for (StoredLock& state : states_)
      for (const auto& [owner, lease] : state.leases)
        touched_.insert(owner);
    return order_by("x", random_() % 2 == 0);
  }

  const Holds& some_holds() { return held_[random_() % held_.size()]; }

  void give_back() {
    if (held_.empty()) return;
    const Holds& holds = some_holds();
    for (const Hold& hold : holds)
      touched_.insert(hold.owner);
    const ReleaseOptions options{.keep = std::chrono::milliseconds(random_() % 2 * 700),
                                 .tell_for = 1s};
    shortened_ = true;
    (void)release(chosen(names_of(holds)), holds, options, now());
  }

  void extend() {
    if (held_.empty()) return;
    const Holds& holds = some_holds();
    for (const Hold& hold : holds)
      touched_.insert(hold.owner);
    (void)renew(chosen(names_of(holds)), holds, now());
  }

  Claim some_claim() {
    const std::string id = std::to_string(random_() % 60);
    Claim claim = claim_as(k_all_modes.at(random_() % 4), "o" + id);
    claim.ttl = std::chrono::milliseconds(1 + random_() % 3000);
    claim.slots = k_slots;
    const std::array<const char*, 3> names{"a", "b", "ab"};
    const std::string which = names.at(random_() % 3);
    claim.names.clear();
    for (const char c : which)
      claim.names.push_back(name_of(std::string(1, c).c_str()));
    if (random_() % 3 == 0) claim.once_per = 20ms;
    if (random_() % 2 == 0 && !held_.empty()) {
      const Hold& above = some_holds().front();
      claim.ancestors.push_back({"", above.name.text(), above.owner, above.serial});
    }
    return claim;
  }

  void claim() {
    const Claim claim = some_claim();
    const auto reply = acquire(chosen(claim.names), claim, now());
    REQUIRE(reply.has_value());  // all slots are of one number
    const auto* grant = std::get_if<Grant>(&*reply);
    if (grant == nullptr) return;
    ++grants;
    REQUIRE(grant->holds.size() == claim.names.size());
    for (std::size_t i = 0; i < grant->holds.size(); ++i) {
      const Hold& hold = grant->holds[i];
      touched_.insert(hold.owner);
      REQUIRE(hold.name == claim.names[i]);
      const StoredLock& state = *chosen({hold.name}).front();
      REQUIRE(lease_of(state, hold.owner).holds.contains(claim.serial));
      REQUIRE(lease_of(state, hold.owner).expires >= StoreTime(time_) + claim.ttl);
    }
    held_.push_back(grant->holds);
  }

  void look() {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      StoredLock state = states_.at(i);
      drop_dead(state, StoreTime(time_));
      look_who_is_there(state);
      look_what_has_changed(before_.at(i), state);
    }
  }

  void look_who_is_there(const StoredLock& state) {
    std::set<std::uint32_t> taken;
    for (const auto& [owner, lease] : state.leases) {
      REQUIRE_FALSE(lease.holds.empty());
      const Mode mode = mode_of(lease);
      if (state.leases.size() > 1) REQUIRE(mode >= Mode::shared);
      REQUIRE(mode == mode_of(state));
      for (const auto& [serial, record] : lease.holds) {
        REQUIRE(record.slot.has_value() == (mode == Mode::slots));
        REQUIRE(record.slot == lease.holds.begin()->second.slot);
      }
      if (mode != Mode::slots) continue;
      REQUIRE(*lease.holds.begin()->second.slot < k_slots);
      REQUIRE(taken.insert(*lease.holds.begin()->second.slot).second);
    }
    if (state.leases.size() > 1) ++beside;
  }

  void look_what_has_changed(const StoredLock& before, const StoredLock& after) {
    REQUIRE(after.token >= before.token);
    for (const auto& [owner, lease] : before.leases) {
      if (touched_.contains(owner)) {
        const auto still = after.leases.find(owner);
        if (still == after.leases.end() || shortened_) continue;
        REQUIRE(still->second.expires >= lease.expires);
      } else {
        REQUIRE(lease_of(after, owner).expires == lease.expires);
        REQUIRE(lease_of(after, owner).holds.size() == lease.holds.size());
        REQUIRE(lease_of(after, owner).revoked_by == lease.revoked_by);
      }
    }
    for (const auto& [owner, lease] : after.leases) {
      if (before.leases.contains(owner)) continue;
      REQUIRE(touched_.contains(owner));
      REQUIRE(lease.holds.begin()->second.token > before.token);
    }
  }

  std::mt19937 random_;
  std::array<StoredLock, 2> states_;
  std::array<StoredLock, 2> before_;
  std::vector<Holds> held_;
  std::set<OwnerId> touched_;  // by the step: the others stay as they are
  bool shortened_ = false;     // a kept lease may be shorter
  Duration time_ = 0s;
};

}  // namespace

TEST_CASE("random calls: readers beside readers only, never too many slots, no effect on others") {
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U}) {
    CAPTURE(seed);
    Play play(seed);
    for (int i = 0; i < 8000; ++i)
      play.step();
    CHECK(play.grants > 1000);
    CHECK(play.beside > 500);
  }
}

}  // namespace dlock::lease_table
