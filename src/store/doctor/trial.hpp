// SPDX-License-Identifier: MIT
// The trial of `dlock doctor`: it acquires, renews, inspects, revokes and releases a lock of its
// own, as a run would, while a second client (the rival) waits in line for the lock. It shows
// whether the store works, and whether messages reach waiters and holders. It touches no other
// lock. At the end the lock is released; if that fails, the lease ends after k_ttl.
#pragma once

#include "core/lock_store.hpp"
#include "store/doctor/finding.hpp"
#include "sys/interrupt.hpp"
#include "sys/signals.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

struct TrialStep {
  std::string what;  // the call that was made: "acquire"
  Duration took{};
};

struct Trial {
  static constexpr Duration k_ttl = std::chrono::seconds(5);
  // If a message takes longer than this, it counts as lost.
  static constexpr Duration k_message_takes = std::chrono::seconds(1);

  // What has become of the messages of one kind.
  enum class Messages { not_tried, refused, lost, heard };

  // `dlock doctor` was called without NAME, so it has chosen the name of the lock to try. If this
  // user may not lock that name, this proves nothing, because the rights may depend on the name.
  bool of_any_name = false;
  std::vector<TrialStep> steps;
  std::optional<Error> failure = {};     // why the call after those in `steps` failed
  Messages turns = Messages::not_tried;  // messages that tell a waiter that the lock is free
  std::string turns_because = {};        // why messages about turns are refused; otherwise empty
  // Messages that tell a holder that the lock has changed (key tracking).
  Messages changes = Messages::not_tried;
  std::string changes_because = {};  // why messages about changes are refused; otherwise empty
};

// Holds back signals in the main thread during a trial and its cleanup, so that a signal does not
// end dlock before the trial's lock is released. Signals that have come meanwhile are delivered
// when this object is destroyed. A signal that would end dlock ends the running call of the store
// (Errc::cancelled), and until() then leaves little time for the cleanup.
class Undisturbed : public Interrupt {
 public:
  // `calls` is the interrupt of the store's calls; null: they have no interrupt.
  explicit Undisturbed(InterruptSlot* calls);
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
  ~Undisturbed() override;

  // Returns `limit`, or the time 150 ms after a signal that would end dlock, if that is earlier.
  Time until(Time limit) const;

  int fd() const override { return signals_ ? signals_->fd() : -1; }
  bool ends_call() const override;

 private:
  InterruptSlot* calls_;
  Result<Signals> signals_;
  mutable std::vector<int> came_;
  mutable std::optional<Time> ended_at_;
};

// Returns a name that no other program uses. If `name` is given, the new name begins with it: this
// user may have the right to lock only names that begin so.
LockName trial_name(const std::optional<LockName>& name);

// Runs the trial with the lock `name`. `holder` and `rival` are two clients of one store.
Trial try_lock(LockStore& holder,
               LockStore& rival,
               const LockName& name,
               const Undisturbed& signals,
               Time until);

// Measures how long the store takes to answer inspect(), and judges it. Also stores the times in
// `server`.
Finding measure_answers(LockStore& store, const ExamineTerms& terms, ExaminedServer& server);

Finding judge_trial(const Trial& trial);
Finding judge_turns(const Trial& trial);
// Judges whether messages reach the holder. `renewed_every` is how long a loss of the lock can
// remain unnoticed without messages.
Finding judge_changes(const Trial& trial, Duration renewed_every);

}  // namespace dlock
