// SPDX-License-Identifier: MIT
// RetryLoop: one request to a store, repeated as long as that may help: `dlock release`, and the
// first renewal of `dlock renew`. A pure machine (core/machine.hpp). RetryLoop does not know which
// request it repeats: it asks for What::call, and the subcommand has given StoreWorker the function
// that sends the request.
#pragma once

#include "core/backoff.hpp"
#include "core/machine.hpp"
#include "core/wait_notices.hpp"

#include <optional>
#include <variant>
#include <vector>

namespace dlock {

struct RetryTerms {
  Duration within{};         // no new try after this; the last try may end up to a second later
  bool had_contact = false;  // the store has already answered this command
  Duration notice_every{};   // between reports of an outage; zero: it is reported once
};

struct RetryOutcome {
  std::optional<Error> error;  // nullopt: the store has answered
  int tries = 0;
};

namespace action {
struct EndRetry {
  RetryOutcome outcome;
};
}  // namespace action

class RetryLoop {
 public:
  using Outcome = RetryOutcome;
  using Action = std::variant<action::Ask, action::Say, action::EndRetry>;

  RetryLoop(const RetryTerms& terms, std::uint64_t seed, Time now);

  std::vector<Action> start(Time now) { return {try_again(now)}; }
  std::vector<Action> on(const event::Called& event, Time now);
  std::vector<Action> on(event::Tick event, Time now);
  std::optional<Time> next_deadline() const;

 private:
  Action try_again(Time now);

  Time started_at_;
  Patience patience_;
  WaitNotices notices_;
  Jitter jitter_;
  Backoff backoff_;
  std::optional<Time> sleep_until_;
  int tries_ = 0;
};

}  // namespace dlock
