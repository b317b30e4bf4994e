// SPDX-License-Identifier: MIT
// WatchLoop: `dlock wait`, and the wait of `dlock force-release` after it has revoked a lock. It
// waits until a name is free, or until the revoked holders are gone. A pure machine
// (core/machine.hpp). It promises:
// - Kind::free comes only if the store's answer to a request of this loop says so;
// - it acquires nothing, joins no line and changes nothing, so it can be ended at any time;
// - it ends at its deadline, or when a try that had begun by then is over (at most a second later).
#pragma once

#include "core/wait_loop.hpp"

#include <optional>
#include <variant>
#include <vector>

namespace dlock {

// The holders that a force-release revoked.
struct RevokedHolders {
  std::vector<Holding::Owner> owners;
  bool some = false;      // some of the revoked owners are not in the store's list of owners
  Duration lease_left{};  // time until the last lease of `owners` ends
};
// Returns the holders that `order` revoked. `before`: the lock just before.
RevokedHolders revoked_holders(const Holding& before, const RevokeOrder& order);

struct WatchTerms {
  AcquireTerms wait;
  Duration notice_every{};                // between reports of the wait; zero: doubling pauses
  std::optional<RevokedHolders> revoked;  // nullopt: wait until the lock is free and has no waiter
};
// Returns the terms for waiting until these holders are gone. The store must have answered this
// command before.
WatchTerms revoked_terms(RevokedHolders revoked, Duration connect_timeout);

struct WatchOutcome {
  enum class Kind {
    free,    // the lock is free, or the revoked holders are gone
    busy,    // not free in time, as `holding` shows
    failed,  // the store did not answer, because of `error`
  };
  Kind kind = Kind::failed;
  std::optional<Holding> holding;  // the newest that was seen
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
  Time deadline_;  // end of the wait for revoked holders
  WaitLoop wait_;
};

}  // namespace dlock
