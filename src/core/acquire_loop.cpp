// SPDX-License-Identifier: MIT
#include "core/acquire_loop.hpp"

#include "base/duration.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {

// A waiter for a foreign lock (one of another program, such as redis-py) polls every 50 to 250 ms,
// as the clients of such locks do: the release of such a lock sends no message.
constexpr Duration k_foreign_poll_least = 50ms;
constexpr Duration k_foreign_poll_most = 250ms;
// The time between two heartbeats of a waiter is in this range. The line drops a waiter that sends
// no heartbeat for 10 s. A heartbeat also finds a release that sent no message (RSpinLock of
// Redisson sends none) or whose message was lost.
constexpr Duration k_beat_least = 2500ms;
constexpr Duration k_beat_most = 3s;
// A bystander (dlock wait, dlock force-release) looks at least this often: no message tells it that
// a waiter in line has died.
constexpr Duration k_bystander_beat = 1s;
constexpr Duration k_untracked_poll_least = 50ms;
constexpr Duration k_untracked_poll_most = 500ms;
// How long a free lock is offered to the first waiter. The script line.lua uses the same time.
constexpr Duration k_turn = 1s;
// How long a claim that does not wait keeps trying while a free lock is offered to waiters: two
// turns, because the first two waiters may be dead.
constexpr Duration k_offer = 2 * k_turn;
constexpr Duration k_offer_poll_least = 100ms;
constexpr Duration k_offer_poll_most = 200ms;
// The longest random delay with which a waiter tries after the end of a lease or of a turn. It
// keeps the waiters from trying all at once.
constexpr Duration k_slack = 20ms;
// How many waiters track the lock's key: the first, and the second in case the first is dead.
constexpr std::uint64_t k_front = 2;
// How many waiters try when the first waiter has not used its turn: more than one waiter may be
// frozen.
constexpr std::uint64_t k_near = 4;

PatienceTerms patience_terms(const AcquireTerms& terms, Time now) {
  PatienceTerms patience{.longest_try = terms.connect_timeout,
                         .first_contact = terms.connect_timeout,
                         .outage = terms.outage_limit,
                         .once = terms.wait == Duration::zero(),
                         .had_contact = terms.had_contact};
  if (terms.wait && !patience.once) patience.until = now + *terms.wait;
  return patience;
}

}  // namespace

AcquireLoop::AcquireLoop(const AcquireTerms& terms, std::uint64_t seed, Time now)
    : terms_(terms),
      started_at_(now),
      last_contact_(now),
      patience_(patience_terms(terms, now), now),
      jitter_(seed),
      backoff_(50ms, 1s),
      watch_backoff_(50ms, 1s) {
  if (terms.wait) deadline_ = now + *terms.wait;
}

AcquireStep AcquireLoop::try_again(Time now) {
  return step::Try{patience_.ask(now), queueing_};
}

void AcquireLoop::move_deadline(Time deadline) {
  deadline_ = deadline;
  patience_.move_end(deadline);
}

AcquireStep AcquireLoop::on_acquire(Result<AcquireReply> answer, Time now) {
  if (!answer) {
    // Unless the error shows that nothing was sent, the store may have granted the claim.
    if (reach_of(answer.error()) == Reach::request) maybe_held_ = true;
    return on_trouble(answer.error(), backoff_, now);
  }
  // A refusal and Done do not reset maybe_held_: an earlier try, whose answer was lost, may have
  // been granted. The hold of that try may even be the reason of the refusal, if it was revoked
  // since then.
  if (const auto* done = std::get_if<Done>(&*answer)) return step::Done{done->ago};
  last_contact_ = now;
  patience_.answered();
  backoff_.reset();
  if (auto* grant = std::get_if<Grant>(&*answer)) {
    maybe_held_ = false;
    queueing_ = Queueing::no;
    return step::Granted{std::move(*grant)};
  }
  return on_busy(std::get<Refusal>(std::move(*answer)), now);
}

// Returns whether we are one of the first two waiters, or would be if we joined the line. In a
// store without a line every waiter counts as one of the first two.
bool AcquireLoop::at_front() const {
  if (terms_.bystander) return true;
  return queueing_ == Queueing::no ? refusal_->holding.waiting < k_front
                                   : refusal_->place <= k_front;
}

AcquireStep AcquireLoop::on_busy(Refusal refusal, Time now) {
  refusal_ = std::move(refusal);
  const bool full = terms_.max_waiters && refusal_->holding.waiting >= *terms_.max_waiters &&
                    refusal_->place == 0;
  if (refusal_->superseded_by) queueing_ = Queueing::no;  // the store took us out of the line
  if (refusal_->by_ancestor || refusal_->superseded_by) return step::Busy{*refusal_};
  if (full || out_of_time(now)) return look_at_offer(full, now);
  if (polling_because_.empty() && (!watching_ || (at_front() && !front_))) {
    front_ = at_front();
    return step::Watch{patience_.ask(now), front_};
  }
  return wait_for_change(now);
}

// Returns the step that gives up (Busy). But if the lock is free and offered to the first waiter,
// which may be dead, returns a sleep before another try: a living waiter takes the lock within its
// turn.
AcquireStep AcquireLoop::look_at_offer(bool full, Time now) {
  const bool once = terms_.wait == Duration::zero();
  if (!refusal_->turn_left || terms_.bystander || !(once || full)) return step::Busy{*refusal_};
  if (!offer_ends_at_) offer_ends_at_ = now + k_offer;
  if (!once && deadline_) offer_ends_at_ = std::min(*offer_ends_at_, *deadline_);
  if (now >= *offer_ends_at_) return step::Busy{*refusal_};
  const Time next = now + jitter_.between(k_offer_poll_least, k_offer_poll_most);
  return step::Sleep{std::min(next, *offer_ends_at_)};
}

AcquireStep AcquireLoop::on_watch(const Result<Watching>& answer, Time now) {
  if (answer) {
    watching_ = true;
    if (!terms_.bystander) queueing_ = Queueing::listening;
    untracked_because_ = answer->untracked_because;
    return try_again(now);  // this try finds a release that came before the watch
  }
  if (answer.error().code == Errc::denied || answer.error().code == Errc::refused) {
    watching_ = false;
    polling_because_ = answer.error().text;
    if (!terms_.bystander) queueing_ = Queueing::polling;
    return try_again(now);
  }
  return on_trouble(answer.error(), watch_backoff_, now);
}

AcquireStep AcquireLoop::on_hand_off(const Result<HandOff>& answer, Time now) {
  if (!answer) {
    // The connection broke. The next try comes after a pause, because the connection may break each
    // time. If the lock is busy then, a new watch begins.
    watching_ = false;
    const Time until = now + watch_backoff_.next(jitter_);
    return step::Sleep{deadline_ ? std::min(until, *deadline_) : until};
  }
  watch_backoff_.reset();
  const bool ours = *answer == HandOff::turn || refusal_->place <= 1;
  // We are not the first waiter, so we do not try now, but when the turn of the first waiter has
  // ended.
  if (*answer != HandOff::timed_out && !ours) {
    // Several wake-ups may belong to one turn. Only the first wake-up sets when the turn ends.
    if (turn_over_at_ <= now) turn_over_at_ = now + k_turn + k_slack;
    return await(turn_over_at_);
  }
  if (out_of_time(now) && *answer == HandOff::timed_out) return step::Busy{*refusal_};
  if (*answer == HandOff::changed) {
    // Rate limit: at most one retry per k_slack while the lock changes rapidly.
    const Time calm = change_seen_at_ + k_slack;
    if (now < calm) return await(calm);
    change_seen_at_ = now;
  }
  return try_again(now);
}

AcquireStep AcquireLoop::await(Time until) const {
  until = std::min(until, beat_at_);
  return step::Await{deadline_ ? std::min(until, *deadline_) : until};
}

AcquireStep AcquireLoop::wait_for_change(Time now) {
  const bool first = refusal_->place <= 1;
  const bool sees = watching_ && front_ && untracked_because_.empty();
  Duration pause = watching_ ? jitter_.between(k_beat_least, k_beat_most)
                             : jitter_.between(k_untracked_poll_least, k_untracked_poll_most);
  if (terms_.bystander) pause = std::min(pause, k_bystander_beat);
  beat_at_ = now + pause;
  if (refusal_->holding.kind == Holding::Kind::foreign && first && !sees) {
    pause = std::min(pause, jitter_.between(k_foreign_poll_least, k_foreign_poll_most));
  }
  // If the lock is free, it is offered to a waiter, and we try when the turn of that waiter ends.
  // Otherwise the first waiter tries when the lease of the holder ends, and the second waiter tries
  // one turn after that.
  const bool room = refusal_->turn_left.has_value();
  const Duration turn = first || room ? Duration::zero() : k_turn;
  const bool near = at_front() || (room && refusal_->place <= k_near);
  if (const auto left = room ? refusal_->turn_left : refusal_->holding.lease_left.within();
      left && near) {
    const Duration expiry = std::max<Duration>(*left, 0ms) + turn + jitter_.between(1ms, k_slack);
    pause = std::min(pause, expiry);
    if (room) turn_over_at_ = now + expiry;
  }
  if (watching_) return await(now + pause);
  if (out_of_time(now)) return step::Busy{*refusal_};
  const Time until = now + pause;
  return step::Sleep{deadline_ ? std::min(until, *deadline_) : until};
}

AcquireStep AcquireLoop::on_trouble(const Error& error, Backoff& backoff, Time now) {
  watching_ = false;
  const auto next = patience_.failed(error, backoff.next(jitter_), now);
  if (!next) return step::Failed{error};
  return step::Sleep{*next};
}

}  // namespace dlock
