// SPDX-License-Identifier: MIT
#include "core/renew_loop.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

RenewLoop::RenewLoop(const RenewTerms& terms, const std::vector<Time>& sent_at) : terms_(terms) {
  for (std::size_t i = 0; i < sent_at.size(); ++i) {
    all_.push_back({.which = i,
                    .clock = LeaseClock(terms.lease, sent_at[i]),
                    .due = sent_at[i] + terms.every,
                    .trouble = {}});
  }
}

std::vector<RenewLoop::Action> RenewLoop::start(Time now) {
  return go_on(now);
}

std::vector<RenewLoop::Action> RenewLoop::on(const event::Renewed& event, Time now) {
  Kept* const one = kept(*std::exchange(asked_, {}));
  if (!event.answer) {
    failed(*one, event.answer.error().text, now);
    return go_on(now);
  }
  const RenewReply& reply = *event.answer;
  if (refused(*one, reply)) return go_on(now);
  // A confirmation that comes after the end of the lease is too late: go_on() looks at the clock of
  // before.
  if (now < one->clock.safe_until()) {
    one->clock.confirm(reply.sent_at);
    one->retry_pause = {};
    one->trouble.clear();
    one->due = reply.sent_at + terms_.every;
    say({.kind = Notice::Kind::renewed, .span = one->clock.safe_until() - now}, *one);
  }
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
  for (const Kept& one : all_)
    next =
        std::min(next, asked_ ? one.clock.safe_until() : std::min(one.due, one.clock.safe_until()));
  return next;
}

// The clock first: what has ended is renewed no more. Then the hold whose renewal is due for
// longest.
std::vector<RenewLoop::Action> RenewLoop::go_on(Time now) {
  for (const Kept& one : all_) {
    if (ended_ || now < one.clock.safe_until()) continue;
    say({.kind = Notice::Kind::lapsing, .text = one.trouble}, one);
    end(/*lost=*/true);
  }
  const auto next = std::min_element(
      all_.begin(), all_.end(), [](const Kept& a, const Kept& b) { return a.due < b.due; });
  if (next == all_.end()) end(/*lost=*/false);
  if (ended_ || asked_ || now < next->due) return std::exchange(actions_, {});
  asked_ = next->which;
  actions_.emplace_back(
      action::Ask{.what = action::Ask::What::renew,
                  .limit = std::min(now + terms_.lease.call_limit(), next->clock.safe_until()),
                  .which = next->which});
  return std::exchange(actions_, {});
}

void RenewLoop::failed(Kept& one, const std::string& why, Time now) {
  const bool first = one.retry_pause == Duration::zero();
  one.retry_pause =
      first ? terms_.lease.first_retry() : std::min(2 * one.retry_pause, terms_.lease.call_limit());
  one.due = now + one.retry_pause;
  one.trouble = why;
  say({.kind = Notice::Kind::unreachable, .text = why}, one);
}

// True: the hold is not kept any more.
bool RenewLoop::refused(const Kept& one, const RenewReply& reply) {
  const std::size_t which = one.which;
  if (reply.verdict == RenewVerdict::revoked) {
    say({.kind = Notice::Kind::revoked, .text = reply.revoked_by}, one);
    end(/*lost=*/true);
  } else if (reply.verdict == RenewVerdict::lost && !reply.released) {
    say({.kind = Notice::Kind::lost, .holding = reply.holding}, one);
    end(/*lost=*/true);
  } else if (reply.verdict != RenewVerdict::lost) {
    return false;
  }
  std::erase_if(all_, [which](const Kept& each) { return each.which == which; });
  return true;
}

void RenewLoop::say(Notice notice, const Kept& one) {
  notice.which = one.which;
  notice.safe_until = one.clock.safe_until();
  actions_.emplace_back(action::Say{std::move(notice)});
}

void RenewLoop::end(bool lost) {
  if (!std::exchange(ended_, true)) actions_.emplace_back(action::EndRenewals{{.lost = lost}});
}

RenewLoop::Kept* RenewLoop::kept(std::size_t which) {
  const auto found = std::find_if(
      all_.begin(), all_.end(), [which](const Kept& one) { return one.which == which; });
  return &*found;
}

}  // namespace dlock
