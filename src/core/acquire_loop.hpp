// SPDX-License-Identifier: MIT
// AcquireLoop: the policy of getting a lock. It tries to acquire. If the lock is busy, it starts to
// watch for its turn and tries again, now as a waiter in line; this second try sees a release that
// came before the watch. Then it sleeps until a message, the end of a lease or its own deadline. It
// repeats its try every few seconds as a heartbeat. Only the first two waiters watch the lock
// itself: the first tries after every change and when the holder's lease ends, the second tries one
// second later, in case the first is dead.
//
// A free lock is offered to the first waiter for one second, which is its turn. A claim that does
// not wait gives up at once if there is a holder. If the lock is free but offered to a waiter,
// which may be dead, the claim keeps trying for two turns.
//
// While the store is unreachable, tries are repeated within a time limit. A bystander (dlock wait,
// dlock force-release) follows the same policy, but its tries only inspect the lock: for it, a
// Grant means that the wait is over.
//
// A pure machine: each call passes an event and its time, and returns the next step. It promises
// that a claim whose answer was lost is repeated under the same serial or reported as maybe_held(),
// and that stands() is true if the claim may have a place in line.
#pragma once

#include "core/backoff.hpp"
#include "core/lock_store.hpp"
#include "core/patience.hpp"

#include <optional>
#include <string>
#include <variant>

namespace dlock {

struct AcquireTerms {
  std::optional<Duration> wait;                   // nullopt: for ever; zero: do not wait
  Duration connect_timeout{};                     // how long the store may be unreachable at first
  Duration outage_limit{};                        // how long it may be unreachable later
  std::optional<std::uint64_t> max_waiters = {};  // busy at once if this many already wait
  bool bystander = false;    // only inspects the lock: joins no line and acquires nothing
  bool had_contact = false;  // the store has already answered this command
};

namespace step {
struct Try {  // ask the store to acquire
  Time limit;
  Queueing queueing = Queueing::no;
};
struct Watch {  // ask the store to watch for our turn
  Time limit;
  bool front = false;
};
struct Await {  // wait in the store for a hand-off
  Time until;
};
struct Sleep {  // sleep, then call on_time()
  Time until;
};
struct Granted {
  Grant grant;
};
struct Busy {  // given up: the lock is taken
  Refusal refusal;
};
struct Done {  // not needed: a run succeeded a short while ago (Claim::once_per)
  Duration ago;
};
struct Failed {  // given up: an error
  Error error;
};
}  // namespace step
using AcquireStep = std::variant<step::Try,
                                 step::Watch,
                                 step::Await,
                                 step::Sleep,
                                 step::Granted,
                                 step::Busy,
                                 step::Done,
                                 step::Failed>;

class AcquireLoop {
 public:
  AcquireLoop(const AcquireTerms& terms, std::uint64_t seed, Time now);

  AcquireStep start(Time now) { return try_again(now); }
  AcquireStep on_acquire(Result<AcquireReply> answer, Time now);
  AcquireStep on_watch(const Result<Watching>& answer, Time now);
  AcquireStep on_hand_off(const Result<HandOff>& answer, Time now);
  AcquireStep on_time(Time now) { return try_again(now); }
  // Replaces the deadline that AcquireTerms::wait set. Not to be called if `wait` is zero.
  void move_deadline(Time deadline);

  // Returns whether the lock may be ours although no answer says so: a try got no answer, and no
  // later try was granted.
  bool maybe_held() const { return maybe_held_; }
  // Returns whether the claim may have a place in line.
  bool stands() const { return queueing_ != Queueing::no; }
  // The newest refusal, which says which holder or waiter is in the way; nullopt: none so far.
  const std::optional<Refusal>& refusal() const { return refusal_; }
  // How the claim waits in line, as the newest try told the store.
  Queueing queueing() const { return queueing_; }
  Time last_contact() const { return last_contact_; }
  Time started_at() const { return started_at_; }
  const std::optional<Time>& deadline() const { return deadline_; }
  // The present outage of the store; nullopt: the newest request was answered.
  std::optional<Outage> outage() const { return patience_.outage(); }
  // Returns whether the store has answered this command.
  bool had_contact() const { return patience_.had_contact(); }
  // Why this waiter polls instead of waiting for messages; empty: it does not poll.
  const std::string& polling_because() const { return polling_because_; }
  // Why key tracking is unavailable; empty while it is on or not needed.
  const std::string& untracked_because() const { return untracked_because_; }

 private:
  bool out_of_time(Time now) const { return deadline_ && now >= *deadline_; }
  AcquireStep try_again(Time now);
  AcquireStep on_busy(Refusal refusal, Time now);
  bool at_front() const;
  AcquireStep await(Time until) const;
  AcquireStep on_trouble(const Error& error, Backoff& backoff, Time now);
  AcquireStep wait_for_change(Time now);
  AcquireStep look_at_offer(bool full, Time now);

  AcquireTerms terms_;
  Time started_at_;
  std::optional<Time> deadline_;
  Time last_contact_;
  Patience patience_;
  bool watching_ = false;
  bool front_ = false;  // watches, or is about to watch, as one of the first waiters
  Queueing queueing_ = Queueing::no;
  Time beat_at_;         // the time of the next heartbeat
  Time turn_over_at_;    // when the turn of the waiter before us ends and our turn begins
  Time change_seen_at_;  // when we last acted on a change message
  // When a claim that does not wait gives up, if the lock is free but offered to a waiter.
  std::optional<Time> offer_ends_at_;
  bool maybe_held_ = false;
  std::string polling_because_;
  std::string untracked_because_;
  std::optional<Refusal> refusal_;
  Jitter jitter_;
  Backoff backoff_;        // pauses after failed tries
  Backoff watch_backoff_;  // pauses after failed watches; tries may be answered meanwhile
};

}  // namespace dlock
