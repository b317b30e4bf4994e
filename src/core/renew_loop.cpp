// SPDX-License-Identifier: MIT
#include "core/renew_loop.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

RenewLoop::RenewLoop(const RenewTerms& terms, const std::vector<Time>& sent_at) : terms_(terms) {
  const KeepTerms keep{.lease = terms.lease, .watch = false, .every = terms.every};
  for (std::size_t i = 0; i < sent_at.size(); ++i)
    all_.push_back({.which = i, .keeper = LeaseKeeper(keep, sent_at[i], sent_at[i])});
}

std::vector<RenewLoop::Action> RenewLoop::start(Time now) {
  return go_on(now);
}

std::vector<RenewLoop::Action> RenewLoop::on(const event::Renewed& event, Time now) {
  const std::size_t which = *std::exchange(asked_, {});
  const auto one = std::find_if(
      all_.begin(), all_.end(), [which](const Kept& each) { return each.which == which; });
  take(event.answer, *one, now);
  return go_on(now);
}

std::vector<RenewLoop::Action> RenewLoop::on(event::ProcessEnded /*event*/, Time /*now*/) {
  end(/*lost=*/false);
  return std::exchange(actions_, {});
}

std::vector<RenewLoop::Action> RenewLoop::on(event::Tick /*event*/, Time now) {
  return go_on(now);
}

std::optional<Time> RenewLoop::next_deadline() const {
  Time next = Time::max();
  for (const Kept& one : all_) {
    next = std::min(next, one.keeper.clock().safe_until());
    if (!asked_) next = std::min(next, one.keeper.next_deadline().value_or(Time::max()));
  }
  return next;
}

void RenewLoop::take(const Result<RenewReply>& answer, Kept& one, Time now) {
  if (answer && answer->verdict == RenewVerdict::lost && answer->released) return drop(one.which);
  // A confirmation after the end of the lease is too late: go_on() finds the lease ended.
  const bool confirmed = answer && answer->verdict == RenewVerdict::renewed;
  if (confirmed && now >= one.keeper.clock().safe_until()) return;
  const KeepStep step = one.keeper.on_renewed(answer, now);
  if (step.notice) say(*step.notice, one);
  if (one.keeper.standing() != LeaseKeeper::Standing::ours) end(/*lost=*/true);
}

void RenewLoop::drop(std::size_t which) {
  std::erase_if(all_, [which](const Kept& each) { return each.which == which; });
}

// The clock first: what has ended is renewed no more. Then the hold whose renewal is due for
// longest.
std::vector<RenewLoop::Action> RenewLoop::go_on(Time now) {
  for (Kept& one : all_) {
    one.keeper.check_end(now, /*regardless=*/false);
    if (ended_ || now < one.keeper.clock().safe_until()) continue;
    say({.kind = Notice::Kind::lapsing, .text = one.keeper.trouble()}, one);
    end(/*lost=*/true);
  }
  if (all_.empty()) end(/*lost=*/false);
  if (ended_ || asked_) return std::exchange(actions_, {});
  const auto due = [](const Kept& one) { return one.keeper.next_deadline().value_or(Time::max()); };
  const auto next = std::min_element(
      all_.begin(), all_.end(), [&](const Kept& a, const Kept& b) { return due(a) < due(b); });
  if (auto ask = next->keeper.on_time(now).ask) {
    asked_ = ask->which = next->which;
    ask->limit = std::min(ask->limit, next->keeper.clock().safe_until());
    actions_.emplace_back(*ask);
  }
  return std::exchange(actions_, {});
}

void RenewLoop::say(Notice notice, const Kept& one) {
  notice.which = one.which;
  notice.safe_until = one.keeper.clock().safe_until();
  actions_.emplace_back(action::Say{std::move(notice)});
}

void RenewLoop::end(bool lost) {
  if (!std::exchange(ended_, true)) actions_.emplace_back(action::EndRenewals{{.lost = lost}});
}

}  // namespace dlock
