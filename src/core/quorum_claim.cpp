// SPDX-License-Identifier: MIT
#include "core/quorum_claim.hpp"

#include "base/duration.hpp"

#include <algorithm>
#include <utility>

namespace dlock::quorum {

using namespace std::chrono_literals;

namespace {

// A server must answer within a tenth of the lease. This is the least limit, a tenth of the
// shortest lease.
constexpr Duration k_least_limit = 100ms;
// If the leader grants a claim, but no majority does, the servers that refused are asked again.
// This is how often.
constexpr int k_tries = 5;
// How long the round waits for more answers: that of a silent leader, or answers that may overrule
// the leader. It waits as long again as it has taken so far, and at least this.
constexpr Duration k_least_patience = 50ms;
// How long a `dlock acquire` that has a majority waits until the other servers grant the hold, too.
// It waits as long again as it has taken so far, and at least this.
constexpr Duration k_part_patience = 20ms;
// After a round without a majority the servers must release what they granted. The round waits for
// that twice as long as it has taken so far, and at least this.
constexpr Duration k_give_back = 100ms;
constexpr Duration k_give_back_limit = 1s;
constexpr Duration k_least_round_trip = 200us;
// If a majority has not granted even after k_tries, the claim asks again after a time in this
// range.
constexpr Duration k_look_least = 20ms;
constexpr Duration k_look_most = 100ms;
// How long a waiter keeps its grants if the leader has granted its claim, but no majority: the
// other servers may know a holder that the leader does not know. Meanwhile the waiter keeps no
// other waiter from the lock, because it is the first in line.
constexpr Duration k_keep_vote = 1s;
// How many of the first waiters ask all servers, if the leader refuses because of a holder. They
// are two, because the first waiter may be dead.
constexpr std::uint64_t k_near = 2;
// A claim is nearly always decided within this time. So a hold that is older than this is not taken
// for that of a rival claim.
constexpr Duration k_rival_takes = 250ms;
// Clock rates differ by less than one hundredth, so a lease is taken to end that much earlier.
constexpr int k_drift = 100;

// If this claim was granted before with the same serial, returns the end of the lease of that
// grant: until then no other claim can be granted. Otherwise returns Time::min().
Time end_of_kept(const Members& members, const Claim& round) {
  const auto sent_at = members.sent_at();
  if (!sent_at || !members.kept() || members.kept()->serial != round.serial) return Time::min();
  return *sent_at + round.ttl - round.ttl / k_drift;
}

// Returns whether the reason of the refusal is about to change (a rival claim, a waiter's turn, a
// lease that ends now). Otherwise the reason is a settled holder.
bool is_contest(const Refusal& refusal) {
  const Holding& holding = refusal.holding;
  if (refusal.turn_left || holding.kind == Holding::Kind::none) return true;
  const auto left = holding.lease_left.within();
  if (left && *left < k_rival_takes) return true;
  return std::any_of(holding.holds.begin(), holding.holds.end(), [&](const HoldRecord& record) {
    return age_of(record, holding) < k_rival_takes;
  });
}

}  // namespace

QuorumClaim::QuorumClaim(Members& members, ClaimTerms terms, Jitter& jitter, Time now)
    : members_(members),
      terms_(std::move(terms)),
      jitter_(jitter),
      started_at_(now),
      limit_(std::min(terms_.limit, now + std::max(terms_.round.ttl / 10, k_least_limit))),
      line_(members.leader()),
      alone_(terms_.leader_first),
      ballot_(members),
      kept_until_(end_of_kept(members, terms_.round)),
      kept_(now < kept_until_) {}

Asks QuorumClaim::start() {
  return alone_ ? ask(line_) : ask_those(Voted::unasked);
}

Asks QuorumClaim::ask(std::size_t server) {
  Asks asks = members_.asks_owed(server, limit_);
  ballot_.asked(server);
  const bool in_line = server == line_;
  Ask one{.server = server, .claim = terms_.round, .limit = limit_};
  if (in_line) one.queueing = terms_.queueing;
  if (!in_line) one.claim.max_waiters.reset();
  asks.push_back(std::move(one));
  return asks;
}

Asks QuorumClaim::ask_those(Voted vote) {
  Asks all;
  for (std::size_t i = 0; i < ballot_.size(); ++i)
    if (ballot_[i].vote == vote) append(all, ask(i));
  return all;
}

Asks QuorumClaim::on_answer(const Ask& ask, const Answer& answer, Time now) {
  Seat& seat = ballot_[ask.server];
  Asks asks;
  if (ask.what == Ask::What::acquire) {
    ballot_.take(ask.server, std::get<Result<AcquireReply>>(answer));
    if (phase_ == Phase::giving_back) {  // abandon() has noted that this grant must be released
      end_if_given_back();
      return {};
    }
    if (phase_ == Phase::raising && ballot_.agrees(ask.server)) asks = raise_at(ask.server);
  } else if (ask.what == Ask::What::raise) {
    const auto& raised = std::get<Result<void>>(answer);
    seat.raised = raised.has_value();
    if (!raised) ballot_.fail(ask.server, raised.error());
  } else if (ask.what == Ask::What::release && phase_ == Phase::giving_back) {
    // All releases that a server owes are sent together, also those of earlier rounds. So the
    // server has released this round's hold when it owes no release any more.
    if (members_[ask.server].owed.empty()) seat.possible = false;
    end_if_given_back();
    return {};
  }
  append(asks, decide(now));
  return asks;
}

Asks QuorumClaim::on_time(Time now) {
  if (phase_ == Phase::over) return {};
  if (phase_ == Phase::giving_back) {
    if (now >= next_deadline()) end();
    return {};
  }
  if (now >= limit_) {
    for (std::size_t i = 0; i < ballot_.size(); ++i) {
      const Seat& seat = ballot_[i];
      const bool raising = phase_ == Phase::raising && seat.vote == Voted::granted && !seat.raised;
      if (seat.vote != Voted::asked && !raising) continue;
      doubt(i, limit_);
      ballot_.fail(i, {Errc::timed_out, members_[i].trouble});
    }
  }
  if (patience_ && now >= *patience_ && !impatient_) {
    impatient_ = true;
    for (std::size_t i = 0; i < ballot_.size(); ++i)
      if (ballot_[i].vote == Voted::asked) doubt(i, *patience_);
  }
  if (retry_at_ && now >= *retry_at_) {
    retry_at_.reset();
    return ask_those(Voted::refused);
  }
  return decide(now);
}

void QuorumClaim::doubt(std::size_t server, Time until) {
  const auto waited = std::chrono::ceil<std::chrono::milliseconds>(until - started_at_);
  members_[server].trouble =
      "no answer from " + members_[server].name + " within " + format_duration(waited);
}

Time QuorumClaim::next_deadline() const {
  Time at = phase_ == Phase::giving_back && patience_ ? *patience_ : limit_;
  if (phase_ != Phase::asking && phase_ != Phase::raising) return at;
  if (patience_ && !impatient_) at = std::min(at, *patience_);
  if (retry_at_ && phase_ == Phase::asking) at = std::min(at, *retry_at_);
  return at;
}

Asks QuorumClaim::decide(Time now) {
  if (phase_ == Phase::raising) return decide_raised(now);
  if (phase_ != Phase::asking) return {};
  if (ballot_.done()) return give_back(AcquireReply(*ballot_.done()), now);
  if (const auto wrong = ballot_.mistake()) return give_back(*wrong, now);
  if (alone_) {
    const Voted vote = ballot_[line_].vote;
    if (vote == Voted::asked) return {};
    const Refusal& refusal = ballot_[line_].refusal;
    // The leader was asked alone. If it refused because of a settled holder, the first waiters also
    // ask the other servers, which may not know that holder.
    if (vote == Voted::refused && (refusal.place > k_near || is_contest(refusal)))
      return give_back(AcquireReply(refusal), now);
    alone_ = false;
    if (vote != Voted::refused) line_ = members_.leader();
    return ask_those(Voted::unasked);
  }
  if (const auto first = ballot_.leader(impatient_)) return decide_by(*first, now);
  if (ballot_.count(Voted::asked) == 0) return give_back(ballot_.too_few("gave no vote"), now);
  const bool clear = ballot_.votes() >= members_.needed() ||
                     ballot_.count(Voted::refused) + ballot_.failures() > members_.spare();
  if (clear && !patience_) patience_ = now + std::max(now - started_at_, k_least_patience);
  return {};
}

Asks QuorumClaim::decide_by(std::size_t leader, Time now) {
  const bool enough = ballot_.votes() >= members_.needed();
  const bool possible = ballot_.votes() + ballot_.count(Voted::asked) >= members_.needed();
  if (ballot_[leader].vote == Voted::refused) {
    const Refusal& refusal = ballot_[leader].refusal;
    if (is_contest(refusal) || !possible || (!enough && impatient_))
      return give_back(AcquireReply(refusal), now);
    if (!patience_) patience_ = now + std::max(now - started_at_, k_least_patience);
  }
  if (enough && (ballot_.knows_tokens() || ballot_.count(Voted::asked) == 0)) return raise(now);
  if (possible) return {};
  if (ballot_.failures() > members_.spare()) return give_back(ballot_.too_few("gave no vote"), now);
  if (retry_at_ && now < limit_) return {};
  if (now < limit_ && ++tries_ <= k_tries) {
    const Duration round_trip = std::max(now - started_at_, k_least_round_trip) / tries_;
    retry_at_ = now + jitter_.between(round_trip / 2, round_trip * 3 / 2);
    return {};
  }
  if (terms_.queueing != Queueing::no && now < std::min(limit_, started_at_ + k_keep_vote)) {
    retry_at_ = now + jitter_.between(k_look_least, k_look_most);
    return {};
  }
  std::size_t other = 0;
  while (ballot_[other].vote != Voted::refused)
    ++other;
  Refusal refusal = ballot_[other].refusal;
  refusal.place = 0;
  refusal.turn_left = jitter_.between(k_look_least, k_look_most);
  return give_back(AcquireReply(std::move(refusal)), now);
}

Asks QuorumClaim::raise(Time now) {
  phase_ = Phase::raising;
  granted_ = kept_ && now < kept_until_ ? members_.kept_holds() : ballot_.choose();
  Asks all;
  for (std::size_t i = 0; i < ballot_.size(); ++i) {
    if (ballot_[i].vote != Voted::granted || !same_owners(granted_, ballot_[i].grant.holds))
      continue;
    append(all, raise_at(i));
  }
  append(all, decide_raised(now));
  return all;
}

Asks QuorumClaim::raise_at(std::size_t server) {
  Seat& seat = ballot_[server];
  seat.raised = same_tokens(seat.grant.holds, granted_);
  if (seat.raised) return {};
  return {{.server = server, .what = Ask::What::raise, .holds = granted_, .limit = limit_}};
}

Asks QuorumClaim::decide_raised(Time now) {
  std::size_t raised = 0;
  std::size_t can = 0;
  bool complete = true;
  for (std::size_t i = 0; i < ballot_.size(); ++i) {
    const Seat& seat = ballot_[i];
    const bool ours = seat.vote == Voted::granted && same_owners(granted_, seat.grant.holds);
    raised += ours && seat.raised ? 1U : 0U;
    can += ours || seat.vote == Voted::asked ? 1U : 0U;
    complete = complete && seat.vote != Voted::asked && (!ours || seat.raised);
  }
  if (raised >= members_.needed()) {
    const bool waits = !complete && !impatient_ && is_of_acquire(terms_.round.serial);
    if (!waits) return granted();
    if (!patience_) patience_ = now + std::max(now - started_at_, k_part_patience);
    return {};
  }
  if (can >= members_.needed()) return {};
  return give_back(ballot_.too_few("did not confirm the fencing token"), now);
}

Asks QuorumClaim::granted() {
  phase_ = Phase::over;
  members_.keep(terms_.round, granted_);
  Asks all;
  for (std::size_t i = 0; i < ballot_.size(); ++i) {
    const Seat& seat = ballot_[i];
    if (seat.vote != Voted::granted) continue;
    if (same_owners(granted_, seat.grant.holds)) {
      members_[i].holds = granted_;
      members_[i].confirmed = seat.grant.sent_at;
      members_[i].raised = seat.raised;
      continue;
    }
    members_.owe(i, seat.grant.holds);
    append(all, members_.asks_owed(i, limit_));
  }
  const auto sent_at = members_.sent_at();
  DLOCK_ASSERT(sent_at.has_value());
  outcome_ = Result<AcquireReply>(Grant{.holds = granted_, .sent_at = *sent_at});
  return all;
}

Asks QuorumClaim::give_back(Result<AcquireReply> outcome, Time now) {
  abandon();
  phase_ = Phase::giving_back;
  Asks all;
  for (std::size_t i = 0; i < ballot_.size(); ++i) {
    if (!ballot_[i].possible || kept_) continue;
    append(all, members_.asks_owed(i, std::max(limit_, now + k_give_back_limit)));
  }
  pending_ = std::move(outcome);
  patience_ = std::min(terms_.limit, now + std::max(2 * (now - started_at_), k_give_back));
  end_if_given_back();
  return all;
}

// Ends the round when all servers that may have granted the claim have released it or are silent.
// Without this wait, the requests of one round after the other would pile up at a slow server.
void QuorumClaim::end_if_given_back() {
  bool waits = false;
  for (std::size_t i = 0; i < ballot_.size(); ++i)
    waits = waits || (ballot_[i].possible && !ballot_[i].silent);
  if (!waits || kept_) end();
}

void QuorumClaim::end() {
  auto* const refusal = *pending_ ? std::get_if<Refusal>(&**pending_) : nullptr;
  if (refusal != nullptr) refusal->holding.votes = ballot_.words();
  outcome_ = std::move(pending_);
  phase_ = Phase::over;
}

void QuorumClaim::abandon() {
  if (kept_) return;  // the claim still has the lease of an earlier grant, which is not released
  for (std::size_t i = 0; i < ballot_.size(); ++i) {
    if (!ballot_[i].possible) continue;
    given_back_ = true;
    if (ballot_[i].vote == Voted::granted) {
      members_.owe(i, ballot_[i].grant.holds);
      continue;
    }
    for (Holds& holds : possible_holds(terms_.round))
      members_.owe(i, std::move(holds));
  }
}

}  // namespace dlock::quorum
