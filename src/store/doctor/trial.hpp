// SPDX-License-Identifier: MIT
// The trial of `dlock doctor`: a lock of its own is acquired, renewed, inspected, revoked and
// released as a run would do it, while a second client waits for it in line. It shows whether the
// store works, and whether messages reach waiters and holders. Nothing else is touched; the lock
// is gone at the end, and by itself after k_ttl.
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
  std::string what;  // "acquire"
  Duration took{};
};

struct Trial {
  static constexpr Duration k_ttl = std::chrono::seconds(5);
  static constexpr Duration k_message_takes = std::chrono::seconds(1);  // later: it is lost

  // The fate of one kind of messages.
  enum class Messages { not_tried, refused, lost, heard };

  // No NAME was given, and a user's rights may depend on names: then it proves nothing that this
  // name is not permitted.
  bool of_any_name = false;
  std::vector<TrialStep> steps;
  std::optional<Error> failure = {};       // of the step after `steps`
  Messages turns = Messages::not_tried;    // to a waiter: the lock is free
  std::string turns_because = {};          // if refused
  Messages changes = Messages::not_tried;  // to a holder: the lock was changed (key tracking)
  std::string changes_because = {};        // if refused
};

// For a trial and its cleaning up, in the main thread: while this lives, no signal that can be
// blocked ends dlock; the signal comes at the end. A signal that would end dlock ends the running
// call of the store (Errc::cancelled), and leaves little time from then on.
class Undisturbed : public Interrupt {
 public:
  // `calls`: the interrupt of the stores' calls; null: they have no interrupt.
  explicit Undisturbed(InterruptSlot* calls);
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
  ~Undisturbed() override;

  // `limit`, or 150 ms after the first signal that would end dlock.
  Time until(Time limit) const;

  int fd() const override { return signals_ ? signals_->fd() : -1; }
  bool ends_call() const override;

 private:
  InterruptSlot* calls_;
  Result<Signals> signals_;
  mutable std::vector<int> came_;
  mutable std::optional<Time> ended_at_;
};

// A name that no other program uses. With `name` it begins like that name, so that a user who may
// lock names that begin so may lock it.
LockName trial_name(const std::optional<LockName>& name);

// `holder` and `rival` are two stores at one place.
Trial try_lock(LockStore& holder,
               LockStore& rival,
               const LockName& name,
               const Undisturbed& signals,
               Time until);

// Measures how long a store takes for a question that changes nothing; also noted in `server`.
Finding measure_answers(LockStore& store, const ExamineTerms& terms, ExaminedServer& server);

Finding judge_trial(const Trial& trial);
Finding judge_turns(const Trial& trial);
// `renewed_every`: the longest time until a loss is noticed without messages.
Finding judge_changes(const Trial& trial, Duration renewed_every);

}  // namespace dlock
