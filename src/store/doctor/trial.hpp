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
  static constexpr Duration k_message_takes = std::chrono::seconds(1);  // or it is lost

  // What became of the messages of one kind.
  enum class Messages { not_tried, refused, lost, heard };

  // No NAME was given, and the rights of a user may depend on names: that this one is not permitted
  // then says nothing.
  bool of_any_name = false;
  std::vector<TrialStep> steps;
  std::optional<Error> failure = {};       // of the step after those
  Messages turns = Messages::not_tried;    // to a waiter: the lock is free
  std::string turns_because = {};          // of refused
  Messages changes = Messages::not_tried;  // to a holder: the lock was changed (key tracking)
  std::string changes_because = {};        // of refused
};

// For a trial and its tidying up, in the main thread: as long as this lives, a signal that can be
// blocked does not end dlock. It comes when this goes. One that would end dlock ends the call of
// the store that is out (Errc::cancelled), and little time is left from then on.
class Undisturbed : public Interrupt {
 public:
  // `calls`: what ends the calls of the stores; null: nothing does.
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

// A name that no other program uses. Beside `name` it begins like that, so that who may lock names
// that begin so may lock it.
LockName trial_name(const std::optional<LockName>& name);

// `holder` and `rival` are two stores at one place.
Trial try_lock(LockStore& holder,
               LockStore& rival,
               const LockName& name,
               const Undisturbed& signals,
               Time until);

// How long a store takes for a question that changes nothing; `server` gets it as well.
Finding measure_answers(LockStore& store, const ExamineTerms& terms, ExaminedServer& server);

Finding judge_trial(const Trial& trial);
Finding judge_turns(const Trial& trial);
// `renewed_every`: how late a loss is noticed without messages.
Finding judge_changes(const Trial& trial, Duration renewed_every);

}  // namespace dlock
