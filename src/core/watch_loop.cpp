// SPDX-License-Identifier: MIT
#include "core/watch_loop.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

// How long force-release waits for the lock to be free after the lease of the revoked holder has
// ended.
constexpr Duration k_expiry_slack = 2s;

AcquireTerms bystander_terms(AcquireTerms terms) {
  terms.bystander = true;
  terms.max_waiters.reset();
  return terms;
}

Duration longest_lease(const std::vector<Holding::Owner>& owners, const Holding& holding) {
  Duration longest = holding.lease_left.within().value_or(0ns);
  for (const Holding::Owner& owner : owners)
    longest = std::max(longest, owner.lease_left.within().value_or(0ns));
  return longest;
}

bool has_token(const Holding::Owner& owner, FencingToken token, const Holding& holding) {
  return std::any_of(holding.holds.begin(), holding.holds.end(), [&](const HoldRecord& hold) {
    return hold.token == token && is_hold_of(hold.id, owner.id);
  });
}

// Returns whether the owner has released the lock, which is only kept (by a freeze).
bool is_only_kept(const OwnerId& owner, const Holding& now) {
  return std::any_of(now.holds.begin(), now.holds.end(), [&](const HoldRecord& hold) {
    return hold.kept && is_hold_of(hold.id, owner);
  });
}

// Returns whether a revoked owner may still hold the lock. If the store has not listed all revoked
// owners (`some`), one may hold it while the store refuses renewals or does not list all owners.
bool any_holds(const RevokedHolders& revoked, const Holding& now) {
  if (now.kind != Holding::Kind::lock) return false;
  if (revoked.some && (!now.revoked_by.empty() || !now.lists_all_owners())) return true;
  return std::any_of(revoked.owners.begin(), revoked.owners.end(), [&](const Holding::Owner& one) {
    return std::any_of(now.owners.begin(), now.owners.end(), [&](const Holding::Owner& other) {
      return one.id == other.id && !is_only_kept(other.id, now);
    });
  });
}

}  // namespace

RevokedHolders revoked_holders(const Holding& before, const RevokeOrder& order) {
  RevokedHolders revoked{.owners = before.owners};
  std::erase_if(revoked.owners, [&](const Holding::Owner& owner) {
    if (order.if_owner && owner.id != *order.if_owner) return true;
    return order.if_token && !has_token(owner, *order.if_token, before);
  });
  revoked.some = !order.if_owner && !order.if_token && !before.lists_all_owners();
  revoked.lease_left = longest_lease(revoked.owners, before);
  return revoked;
}

WatchTerms revoked_terms(RevokedHolders revoked, Duration connect_timeout) {
  const Duration wait = revoked.lease_left + k_expiry_slack;
  return {.wait = {.wait = wait,
                   .connect_timeout = connect_timeout,
                   .outage_limit = wait,
                   .had_contact = true},
          .revoked = std::move(revoked)};
}

WatchLoop::WatchLoop(const WatchTerms& terms, std::uint64_t seed, Time now)
    : revoked_(terms.revoked),
      deadline_(now + terms.wait.wait.value_or(0ns)),
      wait_(bystander_terms(terms.wait), terms.notice_every, seed, now) {}

std::vector<WatchLoop::Action> WatchLoop::start(Time now) {
  return follow(wait_.start(now), now);
}

bool WatchLoop::is_over(const Holding& holding) const {
  if (revoked_) return !any_holds(*revoked_, holding);
  return holding.kind == Holding::Kind::none && !holding.frozen && holding.waiting == 0;
}

std::vector<WatchLoop::Action> WatchLoop::on(event::Inspected event, Time now) {
  const auto answered = [&](Result<AcquireReply> answer) {
    return follow(wait_.on(event::Acquired{std::move(answer), std::move(event.reclaimed)}, now),
                  now);
  };
  if (!event.answer) return answered(event.answer.error());
  Holding& seen = *event.answer;
  if (is_over(seen)) return answered(AcquireReply(Grant{}));
  // A revoked owner that was not listed before may have a longer lease, so the deadline is moved.
  if (revoked_ && revoked_->some) {
    deadline_ = std::max(deadline_, now + longest_lease(seen.owners, seen) + k_expiry_slack);
    wait_.move_deadline(deadline_);
  }
  return answered(AcquireReply(Refusal{.holding = std::move(seen)}));
}

std::vector<WatchLoop::Action> WatchLoop::on(const event::Watched& event, Time now) {
  return follow(wait_.on(event, now), now);
}

std::vector<WatchLoop::Action> WatchLoop::on(const event::HandedOff& event, Time now) {
  return follow(wait_.on(event, now), now);
}

std::vector<WatchLoop::Action> WatchLoop::on(event::Tick event, Time now) {
  return follow(wait_.on(event, now), now);
}

std::optional<Time> WatchLoop::next_deadline() const {
  return wait_.next_deadline();
}

std::vector<WatchLoop::Action> WatchLoop::follow(WaitLoop::Turn turn, Time now) {
  std::vector<Action> actions;
  for (auto& one : turn.actions)
    std::visit([&](auto& what) { actions.emplace_back(std::move(what)); }, one);
  if (!turn.end) return actions;
  WatchOutcome outcome = outcome_of(std::move(*turn.end), now);
  if (outcome.kind == WatchOutcome::Kind::free && !revoked_) {
    actions.emplace_back(action::Say{{.kind = Notice::Kind::free, .span = outcome.waited}});
  }
  actions.emplace_back(action::EndWatch{std::move(outcome)});
  return actions;
}

WatchOutcome WatchLoop::outcome_of(WaitLoop::End end, Time now) const {
  const AcquireLoop& looks = wait_.acquire();
  WatchOutcome outcome{.kind = WatchOutcome::Kind::free,
                       .seen_ago = now - looks.last_contact(),
                       .waited = now - looks.started_at()};
  if (looks.refusal()) outcome.holding = looks.refusal()->holding;
  if (std::holds_alternative<step::Busy>(end)) outcome.kind = WatchOutcome::Kind::busy;
  if (auto* const failed = std::get_if<step::Failed>(&end)) {
    outcome.kind = WatchOutcome::Kind::failed;
    outcome.error = std::move(failed->error);
  }
  return outcome;
}

}  // namespace dlock
