// SPDX-License-Identifier: MIT
// WatchLoop: `dlock wait`, and `dlock force-release` after it has revoked a lock: waits until a
// name is free, or until the revoked holders are gone. A pure machine (core/machine.hpp). It
// promises:
//   - Kind::free comes only after an answer to its own question says so;
//   - it only looks: it takes nothing, waits in no line and changes nothing, so it can be ended at
//     any time;
//   - it ends at its deadline, or when a try that has begun then is over (at most a second later).
#pragma once

#include "core/wait_loop.hpp"

#include <optional>
#include <variant>
#include <vector>

namespace dlock {

// The holders that an order revoked.
struct RevokedHolders {
  std::vector<Holding::Owner> owners;
  bool some = false;      // the order was about more owners than the store listed
  Duration lease_left{};  // time until the last lease of `owners` ends
};
// `before`: the lock as it was when the order was carried out.
RevokedHolders revoked_holders(const Holding& before, const RevokeOrder& order);

struct WatchTerms {
  AcquireTerms wait;
  Duration notice_every{};                // as in WaitNotices
  std::optional<RevokedHolders> revoked;  // nullopt: wait until the lock is free and has no waiter
};
// Terms of waiting for the end of these leases, in a store that has just answered.
WatchTerms revoked_terms(RevokedHolders revoked, Duration connect_timeout);

struct WatchOutcome {
  enum class Kind {
    free,    // the lock is free, or the revoked holders are gone
    busy,    // not in time: `holding`
    failed,  // the store did not answer: `error`
  };
  Kind kind = Kind::failed;
  std::optional<Holding> holding;  // as last seen
  Duration seen_ago{};             // the age of `holding`
  Duration waited{};
  Error error;
};

namespace action {
struct EndWatch {
  WatchOutcome outcome;
};
}  // namespace action

class WatchLoop {
 public:
  using Outcome = WatchOutcome;
  using Action = std::variant<action::Ask, action::Say, action::EndWatch>;

  WatchLoop(const WatchTerms& terms, std::uint64_t seed, Time now);

  std::vector<Action> start(Time now);
  std::vector<Action> on(event::Inspected event, Time now);
  std::vector<Action> on(const event::Watched& event, Time now);
  std::vector<Action> on(const event::HandedOff& event, Time now);
  std::vector<Action> on(event::Tick event, Time now);
  std::optional<Time> next_deadline() const;

 private:
  std::vector<Action> follow(WaitLoop::Turn turn, Time now);
  bool is_over(const Holding& holding) const;
  WatchOutcome outcome_of(WaitLoop::End end, Time now) const;

  std::optional<RevokedHolders> revoked_;
  Time deadline_;  // of the wait for revoked holders
  WaitLoop wait_;
};

}  // namespace dlock
