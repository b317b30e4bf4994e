// SPDX-License-Identifier: MIT
#include "core/renew_loop.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

RenewLoop::RenewLoop(const RenewTerms& terms, const std::vector<Time>& sent_at) : terms_(terms) {
  const KeepTerms keep{.lease = terms.lease, .every = terms.every};
  for (std::size_t i = 0; i < sent_at.size(); ++i)
    all_.push_back({.which = i, .keeper = LeaseKeeper(keep, sent_at[i], sent_at[i])});
}

std::vector<RenewLoop::Action> RenewLoop::start(Time now) {
  return go_on(now);
}

std::vector<RenewLoop::Action> RenewLoop::on(const event::Renewed& event, Time now) {
  if (Kept* const one = answered()) take(event.answer, *one, now);
  return go_on(now);
}

std::vector<RenewLoop::Action> RenewLoop::on(const event::Watched& event, Time now) {
  if (Kept* const one = answered()) note(one->keeper.on_watched(event.answer, now), one->which);
  return go_on(now);
}

// A watched hold has changed, but the message does not say which: each LeaseKeeper is told.
std::vector<RenewLoop::Action> RenewLoop::on(const event::HandedOff& event, Time now) {
  listening_ = false;
  for (Kept& one : all_)
    note(one.keeper.on_change(event.answer, now), one.which);
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

RenewLoop::Kept* RenewLoop::answered() {
  const std::size_t which = *std::exchange(asked_, {});
  const auto one = std::find_if(
      all_.begin(), all_.end(), [which](const Kept& each) { return each.which == which; });
  return one == all_.end() ? nullptr : &*one;
}

void RenewLoop::take(const Result<RenewReply>& answer, Kept& one, Time now) {
  if (answer && answer->verdict == RenewVerdict::lost && answer->released) return drop(one.which);
  // A renewal that is confirmed after the end of its lease is too late: go_on() ends the loop.
  const bool confirmed = answer && answer->verdict == RenewVerdict::renewed;
  if (confirmed && now >= one.keeper.clock().safe_until()) return;
  const KeepStep step = one.keeper.on_renewed(answer, now);
  if (step.notice) say(*step.notice, one);
  note(step, one.which);
  if (one.keeper.standing() != LeaseKeeper::Standing::ours) end(/*lost=*/true);
}

// Queues the request of a LeaseKeeper. The wait for changes is not queued: listen() begins it when
// no other request is to be sent.
void RenewLoop::note(const KeepStep& step, std::size_t which) {
  if (!step.ask || step.ask->what == action::Ask::What::await_hand_off) return;
  to_ask_.push_back(*step.ask);
  to_ask_.back().which = which;
}

void RenewLoop::drop(std::size_t which) {
  std::erase_if(all_, [which](const Kept& each) { return each.which == which; });
  std::erase_if(to_ask_, [which](const action::Ask& each) { return each.which == which; });
}

// Takes the next steps. The ends of the leases are checked first: a lease that has ended is not
// renewed.
std::vector<RenewLoop::Action> RenewLoop::go_on(Time now) {
  for (Kept& one : all_) {
    one.keeper.check_end(now, /*regardless=*/false);
    if (ended_ || now < one.keeper.clock().safe_until()) continue;
    say({.kind = Notice::Kind::lapsing, .text = one.keeper.trouble()}, one);
    end(/*lost=*/true);
  }
  if (all_.empty()) end(/*lost=*/false);
  if (!ended_ && !asked_) ask_what_is_due(now);
  if (!ended_ && !asked_ && !listening_) listen();
  return std::exchange(actions_, {});
}

// Sends the next queued request, which a change led to. If the queue is empty, sends the renewal
// that has been due for longest, if any is due.
void RenewLoop::ask_what_is_due(Time now) {
  if (!to_ask_.empty()) {
    ask(to_ask_.front(), Time::max());
    to_ask_.pop_front();
    return;
  }
  const auto due = [](const Kept& one) { return one.keeper.next_deadline().value_or(Time::max()); };
  const auto next = std::min_element(
      all_.begin(), all_.end(), [&](const Kept& a, const Kept& b) { return due(a) < due(b); });
  auto step = next->keeper.on_time(now);
  if (!step.ask) return;
  step.ask->which = next->which;
  ask(*step.ask, next->keeper.clock().safe_until());
}

void RenewLoop::ask(action::Ask ask, Time limit) {
  asked_ = ask.which;
  ask.limit = std::min(ask.limit, limit);
  actions_.emplace_back(ask);
}

// Begins the wait for a change (await_hand_off). One request is enough: it sees the changes of all
// watched holds.
void RenewLoop::listen() {
  std::optional<action::Ask> all;
  for (const Kept& one : all_) {
    const auto ask = one.keeper.listen().ask;
    if (ask && (!all || ask->limit < all->limit)) all = ask;
  }
  if (!all) return;
  listening_ = true;
  actions_.emplace_back(*all);
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
