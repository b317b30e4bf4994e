// SPDX-License-Identifier: MIT
// Helpers for the tests of the quorum: holds and answers, and a machine that a test drives as a
// store would.
#pragma once

#include "core/quorum_claim.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace dlock::quorum {

using namespace std::chrono_literals;
using What = Ask::What;

inline constexpr Time k_start = Time(1000s);

// s0, s1, …
inline Members members_of(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i)
    names.push_back("s" + std::to_string(i));
  return Members(names);
}

inline Claim claim_as(const HoldSerial& serial) {
  return {.names = {*LockName::parse("a")},
          .owner = "me",
          .serial = serial,
          .ttl = 10s,
          .who = {.host = "db1", .pid = 7, .user = "alice", .command = "", .reason = ""},
          .ancestors = {}};
}

inline Holds hold_as(const HoldSerial& serial, FencingToken token, const OwnerId& owner = "me") {
  HoldRecord record{.token = token};
  return {hold_of(claim_as(serial), 0, owner, record)};
}

inline Answer granted(const Holds& holds, Time sent_at = k_start) {
  return Result<AcquireReply>(Grant{.holds = holds, .sent_at = sent_at});
}
inline Answer refused(std::uint64_t place = 0) {
  return Result<AcquireReply>(Refusal{.holding = {}, .place = place});
}
// Returns a refusal: the lock was granted to another holder this long ago.
inline Answer refused_by(std::chrono::milliseconds age,
                         std::uint64_t place = 0,
                         Duration left = 10s) {
  Holding holding{.kind = Holding::Kind::lock, .owners = {{.id = "other", .count = "1"}}};
  holding.holds = {{.id = "other#1", .since_ms = 1'000'000}};
  holding.now_ms = 1'000'000 + age.count();
  holding.lease_left = left;
  return Result<AcquireReply>(Refusal{.holding = std::move(holding), .place = place});
}
inline Answer refused_for(const Error& error) {
  return Result<AcquireReply>(error);
}
inline Answer raised() {
  return Result<void>();
}
inline Answer renewed(Time sent_at = k_start, RenewVerdict verdict = RenewVerdict::renewed) {
  return Result<RenewReply>(RenewReply{.verdict = verdict, .sent_at = sent_at});
}
inline Answer lost() {
  return renewed(k_start, RenewVerdict::lost);
}
inline Answer released(ReleaseVerdict verdict = ReleaseVerdict::released) {
  return Result<ReleaseVerdict>(verdict);
}

// Drives one machine. The test decides which server answers what, and when.
template <class Machine>
class Driven {
 public:
  template <class... Args>
  explicit Driven(Members& members, Args&&... args)
      : members_(members), machine(members, std::forward<Args>(args)...) {
    send(machine.start());
  }

  // Answers the first open request of this kind at the server.
  void answer(std::size_t server, What what, const Answer& answer) {
    const auto found = std::find_if(open_.begin(), open_.end(), [&](const Ask& ask) {
      return ask.server == server && ask.what == what;
    });
    REQUIRE(found != open_.end());
    last = *found;
    open_.erase(found);
    send(members_.heard(last, answer));
    if (!machine.outcome()) send(machine.on_answer(last, answer, now));
  }
  void answer(const std::vector<std::size_t>& servers, What what, const Answer& one) {
    for (const std::size_t server : servers)
      answer(server, what, one);
  }
  void wait_until(Time time) {
    now = time;
    if (!machine.outcome() && now >= machine.next_deadline()) send(machine.on_time(now));
  }

  // Returns the number of open requests of this kind; or whether this server has one.
  std::size_t asked(What what) const {
    return static_cast<std::size_t>(std::count_if(
        open_.begin(), open_.end(), [&](const Ask& ask) { return ask.what == what; }));
  }
  bool asked(std::size_t server, What what) const {
    return std::any_of(open_.begin(), open_.end(), [&](const Ask& ask) {
      return ask.server == server && ask.what == what;
    });
  }
  bool is_over() const { return machine.outcome().has_value(); }

 private:
  void send(const Asks& asks) { open_.insert(open_.end(), asks.begin(), asks.end()); }

  Members& members_;
  std::vector<Ask> open_;

 public:
  Machine machine;
  Time now = k_start;
  Ask last;  // the last ask that was answered
};

// Returns the outcome of the machine, which must be of this type.
template <class T, class Machine>
const T& outcome_of(const Driven<Machine>& driven) {
  REQUIRE(driven.is_over());
  const auto& outcome = *driven.machine.outcome();
  REQUIRE_MESSAGE(outcome.has_value(), (outcome ? "" : outcome.error().text));
  if constexpr (std::is_same_v<T, std::decay_t<decltype(*outcome)>>) {
    return *outcome;
  } else {
    REQUIRE(std::holds_alternative<T>(*outcome));
    return std::get<T>(*outcome);
  }
}

// A round of a claim at this many servers.
struct Round {
  explicit Round(std::size_t servers) : Round(members_of(servers)) {}
  explicit Round(Members known, Queueing how = Queueing::no, bool first = false)
      : members(std::move(known)), queueing(how), leader_first(first) {}

  ClaimTerms terms(const HoldSerial& serial) const {
    return {.round = claim_as(serial),
            .queueing = queueing,
            .leader_first = leader_first,
            .limit = now + 5s};
  }
  Driven<QuorumClaim> begin(const HoldSerial& serial = "r1") {
    Driven<QuorumClaim> driven(members, terms(serial), jitter, now);
    driven.now = now;
    return driven;
  }

  Members members;
  Queueing queueing = Queueing::no;
  bool leader_first = false;
  Jitter jitter{1};
  Time now = k_start;
};

}  // namespace dlock::quorum
