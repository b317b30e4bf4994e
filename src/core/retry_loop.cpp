// SPDX-License-Identifier: MIT
#include "core/retry_loop.hpp"

#include <algorithm>

namespace dlock {

using namespace std::chrono_literals;

namespace {

// The limit of one try. It is short, so that a store that does not answer is asked again on a new
// connection.
constexpr Duration k_call_longest = 2s;

}  // namespace

RetryLoop::RetryLoop(const RetryTerms& terms, std::uint64_t seed, Time now)
    : started_at_(now),
      patience_({.longest_try = std::min(k_call_longest, terms.within),
                 .first_contact = terms.within,
                 .outage = terms.within,
                 .until = now + terms.within,
                 .had_contact = terms.had_contact},
                now),
      notices_(now, terms.notice_every),
      jitter_(seed),
      backoff_(50ms, 1s) {}

RetryLoop::Action RetryLoop::try_again(Time now) {
  sleep_until_.reset();
  ++tries_;
  return action::Ask{.what = action::Ask::What::call, .limit = patience_.ask(now)};
}

std::vector<RetryLoop::Action> RetryLoop::on(const event::Called& event, Time now) {
  if (event.answer) return {action::EndRetry{{.error = {}, .tries = tries_}}};
  const Error& error = event.answer.error();
  sleep_until_ = patience_.failed(error, backoff_.next(jitter_), now);
  if (!sleep_until_) return {action::EndRetry{{.error = error, .tries = tries_}}};
  return {action::Say{{.kind = Notice::Kind::unreachable, .text = error.text}}};
}

std::vector<RetryLoop::Action> RetryLoop::on(event::Tick /*event*/, Time now) {
  std::vector<Action> actions;
  actions.reserve(2);
  const WaitView view{.started_at = started_at_, .outage = patience_.outage()};
  if (auto notice = notices_.due(view, now)) actions.emplace_back(action::Say{std::move(*notice)});
  if (sleep_until_ && now >= *sleep_until_) actions.emplace_back(try_again(now));
  return actions;
}

std::optional<Time> RetryLoop::next_deadline() const {
  return std::min(notices_.next(patience_.outage()), sleep_until_.value_or(Time::max()));
}

}  // namespace dlock
