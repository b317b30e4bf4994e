// SPDX-License-Identifier: MIT
// AcquireLoop: the policy of getting a lock. Try; if busy, watch for our turn and try again, now as
// a waiter in line (this second try sees what happened before the watch was up); then sleep until a
// message or our own deadline. A try every few seconds shows the line that we live. Only the first
// two in line look at the lock itself: the first goes by every change and by the end of the
// holder's lease, the second comes a second later, in case the first does not take its turn. A
// claim that does not wait is refused if a holder is there, or if a waiter takes the lock within
// two turns: that waiter may be dead. Outages are ridden out within a budget. A bystander (dlock
// wait, dlock force-release) goes the same way, but its tries only look: a Grant then means that
// the wait is over.
//
// A pure machine: each call passes an event and its time, and returns the next step. It promises
// that a claim whose answer was lost is repeated under the same serial or reported as maybe_held(),
// and that stands() is true once the claim has asked for a place in line.
#pragma once

#include "core/backoff.hpp"
#include "core/lock_store.hpp"
#include "core/patience.hpp"

#include <optional>
#include <string>
#include <variant>

namespace dlock {

struct AcquireTerms {
  std::optional<Duration> wait;                   // nothing: for ever; zero: a single try
  Duration connect_timeout{};                     // how long the store may be unreachable at first
  Duration outage_limit{};                        // how long it may be unreachable later
  std::optional<std::uint64_t> max_waiters = {};  // busy at once if this many wait already
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
struct Busy {  // gave up: the lock is taken
  Refusal refusal;
};
struct Done {  // no longer wanted: Claim::once_per
  Duration ago;
};
struct Failed {  // gave up: an error
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
  // Sets another deadline than `wait` gave. Not for a single try.
  void move_deadline(Time deadline);

  // A try had no answer, and no later one was granted: the lock may be ours without our knowing.
  bool maybe_held() const { return maybe_held_; }
  // Whether we may have a place in line.
  bool stands() const { return queueing_ != Queueing::no; }
  // The newest refusal, which names the holder or waiter in the way. nullopt: there was none so
  // far.
  const std::optional<Refusal>& refusal() const { return refusal_; }
  // How the claim was last tried.
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
  Time beat_at_;                       // when the next heartbeat is due at the latest
  Time turn_over_at_;                  // when the turn of the waiter before us ends and ours begins
  Time change_seen_at_;                // the newest change that we acted on
  std::optional<Time> offer_ends_at_;  // the free lock is left to its waiter until then
  bool maybe_held_ = false;
  std::string polling_because_;
  std::string untracked_because_;
  std::optional<Refusal> refusal_;
  Jitter jitter_;
  Backoff backoff_;        // between tries that failed
  Backoff watch_backoff_;  // after watches that failed or broke, while tries may go well
};

}  // namespace dlock
