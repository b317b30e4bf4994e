// SPDX-License-Identifier: MIT
// AcquireLoop: the policy of getting a lock. Try; if busy, watch for our turn, try again, this time
// as a waiter in line (what happened before the watch was up is seen by that), then sleep until a
// message or our own deadline. Trying again every few seconds tells the line that we live. Only the
// first two in line look at the lock itself: the first goes by every change and by the end of the
// holder's lease, the second comes a second later, in case the first does not take its turn.
// A claim that does not wait is refused by a holder, and by a waiter only if that takes the lock
// within two turns: it may be dead. Outages are ridden out within a budget. A bystander (dlock
// wait, dlock force-release) goes the same way, but its tries are looks: a Grant then means that
// the wait is over.
//
// A pure machine: each call passes an event and its time, and returns the next step. It promises
// that a claim whose answer was lost is repeated under the same serial or reported as maybe_held(),
// and that it stands() in line from the first time it asked to.
#pragma once

#include "core/backoff.hpp"
#include "core/lock_store.hpp"
#include "core/patience.hpp"

#include <optional>
#include <string>
#include <variant>

namespace dlock {

struct AcquireTerms {
  std::optional<Duration> wait;                   // nothing: for ever; zero: until it is held
  Duration connect_timeout{};                     // how long a store may stay out of reach at start
  Duration outage_limit{};                        // and after it was in reach once
  std::optional<std::uint64_t> max_waiters = {};  // busy at once where as many wait already
  bool bystander = false;    // looks at the lock: does not wait in line and takes nothing
  bool had_contact = false;  // the store has answered this command before
};

namespace step {
struct Try {  // ask the store to acquire
  Time limit;
  Queueing queueing = Queueing::no;
};
struct Watch {  // ask it to watch for our turn
  Time limit;
  bool front = false;
};
struct Await {  // sleep in the store until a hand-off
  Time until;
};
struct Sleep {  // then call on_time()
  Time until;
};
struct Granted {
  Grant grant;
};
struct Busy {  // gave up: another has it
  Refusal refusal;
};
struct Done {  // not wanted any more: Claim::once_per
  Duration ago;
};
struct Failed {  // gave up: no use
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
  // The wait ends at another time than `wait` said. Not for a single try.
  void move_deadline(Time deadline);

  // A try got no answer, and none was granted since: the lock may be ours without our knowing.
  bool maybe_held() const { return maybe_held_; }
  // We may have a place in line.
  bool stands() const { return queueing_ != Queueing::no; }
  // The newest: whom the claim waits for. nullopt: none so far.
  const std::optional<Refusal>& refusal() const { return refusal_; }
  // As what the claim was last tried.
  Queueing queueing() const { return queueing_; }
  Time last_contact() const { return last_contact_; }
  Time started_at() const { return started_at_; }
  const std::optional<Time>& deadline() const { return deadline_; }
  // Nothing: the last ask was answered.
  std::optional<Outage> outage() const { return patience_.outage(); }
  // Why waiters poll here, once that is known; empty while hand-offs work.
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
  bool front_ = false;  // watching, or about to, as one of the first
  Queueing queueing_ = Queueing::no;
  Time beat_at_;                       // the time of the next heartbeat at the latest
  Time turn_over_at_;                  // of the waiter before this one, whose turn comes then
  Time change_seen_at_;                // and acted on
  std::optional<Time> offer_ends_at_;  // the lock is free, and another's turn: no longer waited for
  bool maybe_held_ = false;
  std::string polling_because_;
  std::string untracked_because_;
  std::optional<Refusal> refusal_;
  Jitter jitter_;
  Backoff backoff_;        // between tries that failed
  Backoff watch_backoff_;  // after watches that failed or broke: tries may go well meanwhile
};

}  // namespace dlock
