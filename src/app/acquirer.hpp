// SPDX-License-Identifier: MIT
// Acquirer: carries out one `dlock acquire` on this machine. It does what a run does, up to the
// grant. Where a run would start its child, Acquirer calls `take_over` with the holds. If take_over
// fails, Acquirer releases the lock, as a run does when its child cannot be started.
#pragma once

#include "app/driver.hpp"
#include "core/run_session.hpp"

#include <functional>

namespace dlock {

class Acquirer : private DriverHooks {
 public:
  // Passes the holds on to the user, for example by printing them. Their lease is valid until
  // `safe_until`. After an error the holds are released.
  using TakeOver = std::function<Result<void>(const Holds&, Time safe_until)>;

  Acquirer(RunSession session,
           StoreWorker& worker,
           const Signals& signals,
           Listener& listener,
           TakeOver take_over)
      : take_over_(std::move(take_over)),
        driver_(std::move(session), worker, &signals, listener, *this) {}

  // Returns how the acquire ended. Outcome::Kind::taken: the lock is held; otherwise it is not
  // held, unless the store gave no answer to the release. Errc::system: the kernel refused what
  // dlock needs, before the store was asked.
  Result<Outcome> run() { return driver_.run(); }

 private:
  friend class Driver<RunSession, Acquirer>;

  void carry_out(action::StartChild& start) {
    auto taken = take_over_(start.holds, driver_.machine().safe_until().value_or(driver_.now()));
    if (taken) return driver_.feed(event::TakenOver{});
    driver_.read_clock();
    driver_.feed(event::StartFailed{taken.error()});
  }
  // An acquire has no child, so there is no guard to set and no group to signal.
  void carry_out(action::SetGuard& /*guard*/) {}
  void carry_out(action::SignalGroup& /*order*/) {}

  TakeOver take_over_;
  Driver<RunSession, Acquirer> driver_;
};

}  // namespace dlock
