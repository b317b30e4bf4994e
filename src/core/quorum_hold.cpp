// SPDX-License-Identifier: MIT
#include "core/quorum_hold.hpp"

#include <algorithm>
#include <utility>

namespace dlock::quorum {

using namespace std::chrono_literals;

namespace {

// How long a release that a majority has confirmed waits for the other servers: as long again as
// the majority took, and at least this.
constexpr Duration k_release_patience = 20ms;
constexpr Duration k_look_patience = 50ms;

// Returns the claim with which a server can be asked to grant these holds.
Claim claim_for(const Holds& holds) {
  const Hold& one = holds.front();
  return {.names = names_of(holds),
          .owner = one.owner,
          .serial = one.serial,
          .ttl = one.ttl,
          .renewed = one.renewed,
          .who = one.who,
          .ancestors = {},
          .mode = one.mode};
}

Error silence(const Members& members, std::size_t answered) {
  return {Errc::timed_out,
          "only " + std::to_string(answered) + " of " + std::to_string(members.size()) +
              " servers answered"};
}

}  // namespace

QuorumRenewal::QuorumRenewal(Members& members, Ask::What what, Holds holds, Time limit)
    : members_(members), what_(what), holds_(std::move(holds)), limit_(limit) {
  // All servers are asked if it is not known which servers have granted the hold: it was granted to
  // another process, or too few servers confirmed it before.
  const bool known = members_.keeps(holds_) && members_.sent_at();
  if (!known) members_.keep(claim_for(holds_), holds_);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (!known) members_[i].holds = holds_;
    seats_.push_back(members_[i].holds.empty() ? Seat::absent : Seat::asked);
  }
}

Asks QuorumRenewal::start() {
  Asks all;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    append(all, members_.asks_owed(i, limit_));
    if (seats_[i] == Seat::absent) continue;
    all.push_back({.server = i, .what = what_, .holds = holds_, .limit = limit_});
    if (what_ == Ask::What::renew && !members_[i].raised && holds_.front().token != 0)
      all.push_back({.server = i, .what = Ask::What::raise, .holds = holds_, .limit = limit_});
  }
  if (all.empty()) return decide({});
  return all;
}

Asks QuorumRenewal::on_answer(const Ask& ask, const Answer& answer, Time now) {
  if (ask.what != what_) return {};
  const auto& reply = std::get<Result<RenewReply>>(answer);
  Seat& seat = seats_[ask.server];
  if (!reply) {
    seat = Seat::failed;
    error_ = reply.error();
  } else if (reply->verdict == RenewVerdict::lost) {
    seat = Seat::lost;
    take_loss(*reply);
  } else if (reply->verdict == RenewVerdict::revoked) {
    seat = Seat::revoked;
    if (!revoked_) revoked_ = *reply;
  } else {
    seat = Seat::ours;
    heard_at_.push_back(reply->sent_at);
  }
  return decide(now);
}

// Combines the answers that say that the hold is lost: what one server knows is in the result. A
// server that never granted the hold does not know how it ended, and may show a free lock.
void QuorumRenewal::take_loss(const RenewReply& reply) {
  if (!lost_) lost_ = reply;
  lost_->released = lost_->released || reply.released;
  lost_->some_left = lost_->some_left || reply.some_left;
  if (lost_->holding.owners.empty() && !reply.holding.owners.empty()) {
    lost_->holding = reply.holding;
    lost_->which = reply.which;
  }
}

Asks QuorumRenewal::on_time(Time now) {
  impatient_ = impatient_ || (patience_ && now >= *patience_);
  for (Seat& seat : seats_)
    if (seat == Seat::asked && now >= limit_) seat = Seat::failed;
  return decide(now);
}

Time QuorumRenewal::next_deadline() const {
  return patience_ && !impatient_ ? std::min(*patience_, limit_) : limit_;
}

std::size_t QuorumRenewal::count(Seat seat) const {
  return static_cast<std::size_t>(std::count(seats_.begin(), seats_.end(), seat));
}

Asks QuorumRenewal::decide(Time now) {
  if (outcome_) return {};
  // A server that had not granted the hold at the start may have granted it meanwhile. It was not
  // asked about the hold, so it counts as failed, not as absent.
  for (std::size_t i = 0; i < seats_.size(); ++i)
    if (seats_[i] == Seat::absent && !members_[i].holds.empty()) seats_[i] = Seat::failed;
  const std::size_t lost = count(Seat::lost) + count(Seat::absent);
  if (count(Seat::ours) >= members_.needed()) {
    // A server sends change messages only for locks that were checked there, and only after the
    // check. So a check waits for the answers of all servers.
    if (what_ == Ask::What::check && count(Seat::asked) != 0 && !impatient_) {
      if (!patience_) patience_ = now + k_look_patience;
      return {};
    }
    const bool renews = what_ == Ask::What::renew;
    RenewReply reply{.verdict = renews ? RenewVerdict::renewed : RenewVerdict::held};
    const auto sent_at =
        renews ? members_.sent_at() : newest_of_majority(heard_at_, members_.needed());
    DLOCK_ASSERT(sent_at.has_value());
    reply.sent_at = *sent_at;
    outcome_ = std::move(reply);
    return renews ? complete() : Asks();
  }
  if (lost > members_.spare()) {
    RenewReply reply = lost_.value_or(RenewReply{.verdict = RenewVerdict::lost});
    reply.some_left = reply.some_left || lost < members_.size();
    outcome_ = std::move(reply);
  } else if (revoked_ && lost + count(Seat::revoked) > members_.spare()) {
    outcome_ = *revoked_;
  } else if (count(Seat::asked) == 0) {
    Error error = error_.value_or(silence(members_, members_.size() - count(Seat::failed)));
    outcome_ = std::move(error);
  }
  return {};
}

// Asks the servers that have not granted the hold to grant it, too. That is safe: a majority has
// our hold, so no rival can have a majority.
Asks QuorumRenewal::complete() {
  Asks all;
  const Claim& kept = *members_.kept();
  if (joins(holds_)) return all;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i] != Seat::absent && seats_[i] != Seat::lost) continue;
    Ask one{.server = i, .claim = kept, .limit = limit_};
    one.claim.least_uptime = {};
    one.claim.once_per = {};
    all.push_back(std::move(one));
  }
  return all;
}

QuorumRelease::QuorumRelease(
    Members& members, Holds holds, ReleaseOptions options, Time now, Time limit)
    : members_(members),
      holds_(std::move(holds)),
      options_(options),
      started_at_(now),
      limit_(limit),
      seats_(members.size()) {}

bool QuorumRelease::is_ours(const Ask& ask) const {
  const Hold& one = holds_.front();
  return ask.what == Ask::What::release && ask.holds.front().serial == one.serial &&
         ask.holds.front().owner == one.owner && ask.holds.front().name == one.name;
}

// Asks all servers to release, the leader last: its release wakes the next waiter, which asks the
// other servers at once.
Asks QuorumRelease::start() {
  Asks all;
  for (std::size_t i = seats_.size(); i-- > 0;) {
    members_.owe(i, holds_, options_);  // noted until the server has released it
    for (Ask& one : members_.asks_owed(i, limit_))
      if (!is_ours(one)) all.push_back(std::move(one));
    all.push_back({.server = i,
                   .what = Ask::What::release,
                   .holds = holds_,
                   .release_options = options_,
                   .limit = limit_});
  }
  if (members_.keeps(holds_)) members_.forget_kept();
  return all;
}

Asks QuorumRelease::on_answer(const Ask& ask, const Answer& answer, Time now) {
  if (!is_ours(ask)) return {};
  seats_[ask.server] = std::get<Result<ReleaseVerdict>>(answer);
  decide(now, false);
  return {};
}

Asks QuorumRelease::on_time(Time now) {
  if (now >= next_deadline()) decide(now, true);
  return {};
}

Time QuorumRelease::next_deadline() const {
  return patience_ ? std::min(*patience_, limit_) : limit_;
}

void QuorumRelease::decide(Time now, bool last) {
  if (outcome_) return;
  std::size_t freed = 0;
  std::size_t open = 0;
  std::optional<Error> error;
  for (const auto& seat : seats_) {
    freed += seat && *seat ? 1U : 0U;
    open += seat ? 0U : 1U;
    if (seat && !*seat) error = seat->error();
  }
  const bool enough = freed >= members_.needed();
  if (enough && (open == 0 || last)) outcome_ = verdict();
  if (!enough && (open == 0 || last)) outcome_ = error.value_or(silence(members_, freed));
  if (enough && !patience_) patience_ = now + std::max(now - started_at_, k_release_patience);
}

// Returns not_held if a majority of the servers did not have the hold: then the lock was lost, even
// if nested runs still hold it at some servers.
ReleaseVerdict QuorumRelease::verdict() const {
  const auto count = [&](ReleaseVerdict wanted) {
    return static_cast<std::size_t>(
        std::count_if(seats_.begin(), seats_.end(), [&](const auto& seat) {
          return seat && *seat && **seat == wanted;
        }));
  };
  if (count(ReleaseVerdict::not_held) >= members_.needed()) return ReleaseVerdict::not_held;
  const bool left = count(ReleaseVerdict::still_held) > members_.spare();
  return left ? ReleaseVerdict::still_held : ReleaseVerdict::released;
}

}  // namespace dlock::quorum
