// SPDX-License-Identifier: MIT
#include "core/wait_loop.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace dlock {

namespace {

void tell(WaitLoop::Turn& turn, std::optional<Notice> notice) {
  if (notice) turn.actions.emplace_back(action::Say{std::move(*notice)});
}

}  // namespace

WaitLoop::WaitLoop(const AcquireTerms& terms, Duration notice_every, std::uint64_t seed, Time now)
    : terms_(terms), acquire_(terms, seed, now), notices_(now, notice_every) {}

WaitLoop::Turn WaitLoop::start(Time now) {
  Turn turn;
  take(acquire_.start(now), turn, now);
  return turn;
}

void WaitLoop::take(AcquireStep step, Turn& turn, Time now) {
  using What = action::Ask::What;
  sleep_until_.reset();
  asked_at_ = now;
  std::visit(
      [&](auto& what) {
        using Step = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<Step, step::Try>) {
          turn.actions.emplace_back(
              action::Ask{.what = terms_.bystander ? What::inspect : What::acquire,
                          .limit = what.limit,
                          .queueing = what.queueing});
        } else if constexpr (std::is_same_v<Step, step::Watch>) {
          turn.actions.emplace_back(
              action::Ask{.what = What::watch, .limit = what.limit, .front = what.front});
        } else if constexpr (std::is_same_v<Step, step::Await>) {
          turn.actions.emplace_back(action::Ask{.what = What::await_hand_off, .limit = what.until});
        } else if constexpr (std::is_same_v<Step, step::Sleep>) {
          sleep_until_ = what.until;
        } else {
          turn.end = std::move(what);
        }
      },
      step);
}

WaitLoop::Turn WaitLoop::on(event::Acquired event, Time now) {
  Turn turn;
  const bool answered = event.answer.has_value();
  const std::string trouble = answered ? "" : event.answer.error().text;
  if (answered) slowest_answer_ = std::max(slowest_answer_, now - asked_at_);
  for (Reclaimed& one : event.reclaimed) {
    tell(turn,
         Notice{.kind = Notice::Kind::reclaimed,
                .which = one.which,
                .holding = std::move(one.holding)});
  }
  AcquireStep step = acquire_.on_acquire(std::move(event.answer), now);
  if (!trouble.empty() && !std::holds_alternative<step::Failed>(step)) {
    tell(turn, Notice{.kind = Notice::Kind::unreachable, .text = trouble});
  }
  take(std::move(step), turn, now);
  if (answered && !turn.end) tell(turn, notices_.answered(view(), now));
  return turn;
}

WaitLoop::Turn WaitLoop::on(const event::Watched& event, Time now) {
  Turn turn;
  const bool polled = !acquire_.polling_because().empty();
  const bool untracked = !acquire_.untracked_because().empty();
  take(acquire_.on_watch(event.answer, now), turn, now);
  if (!polled && !acquire_.polling_because().empty()) {
    tell(turn, Notice{.kind = Notice::Kind::polling, .text = acquire_.polling_because()});
  }
  if (!untracked && !acquire_.untracked_because().empty()) {
    tell(turn, Notice{.kind = Notice::Kind::untracked, .text = acquire_.untracked_because()});
  }
  return turn;
}

WaitLoop::Turn WaitLoop::on(const event::HandedOff& event, Time now) {
  Turn turn;
  if (!event.answer) {
    tell(turn, Notice{.kind = Notice::Kind::unreachable, .text = event.answer.error().text});
  }
  take(acquire_.on_hand_off(event.answer, now), turn, now);
  return turn;
}

WaitLoop::Turn WaitLoop::on(event::Tick /*event*/, Time now) {
  Turn turn;
  tell(turn, notices_.due(view(), now));
  if (sleep_until_ && now >= *sleep_until_) take(acquire_.on_time(now), turn, now);
  return turn;
}

std::optional<Time> WaitLoop::next_deadline() const {
  return std::min(notices_.next(acquire_.outage()), sleep_until_.value_or(Time::max()));
}

WaitView WaitLoop::view() const {
  return {.started_at = acquire_.started_at(),
          .refusal = acquire_.refusal(),
          .seen_at = acquire_.last_contact(),
          .outage = acquire_.outage(),
          .until = acquire_.deadline()};
}

}  // namespace dlock
