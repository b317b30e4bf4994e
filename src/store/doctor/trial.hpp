// SPDX-License-Identifier: MIT
// The trial of `dlock doctor`: it acquires, renews, inspects, revokes and releases a lock of its
// own, as a run would, while a second client waits in line for the lock. It shows whether the store
// works, and whether messages reach waiters and holders. It touches nothing else. The lock is
// released at the end; if that fails, it expires after k_ttl.
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
  // A message that takes longer counts as lost.
  static constexpr Duration k_message_takes = std::chrono::seconds(1);

  // What became of one kind of messages.
  enum class Messages { not_tried, refused, lost, heard };

  // dlock doctor was called without NAME. Rights may depend on the name, so it proves nothing if
  // this user may not lock the name of the trial.
  bool of_any_name = false;
  std::vector<TrialStep> steps;
  std::optional<Error> failure = {};     // why the step after `steps` failed
  Messages turns = Messages::not_tried;  // messages to a waiter: the lock is free
  std::string turns_because = {};        // why `turns` is refused
  // Messages to a holder: the lock has changed (key tracking).
  Messages changes = Messages::not_tried;
  std::string changes_because = {};  // why `changes` is refused
};

// Holds signals back in the main thread during a trial and its cleanup: as long as this lives, no
// signal that can be blocked ends dlock; pending signals are delivered at the end. A signal that
// would end dlock ends the running call of the store (Errc::cancelled), and until() then leaves
// little time.
class Undisturbed : public Interrupt {
 public:
  // `calls`: the interrupt of the store's calls; null: they have none.
  explicit Undisturbed(InterruptSlot* calls);
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
  ~Undisturbed() override;

  // Returns `limit`, or 150 ms after the first signal that would end dlock, if that is earlier.
  Time until(Time limit) const;

  int fd() const override { return signals_ ? signals_->fd() : -1; }
  bool ends_call() const override;

 private:
  InterruptSlot* calls_;
  Result<Signals> signals_;
  mutable std::vector<int> came_;
  mutable std::optional<Time> ended_at_;
};

// Returns a name that no other program uses. If `name` is given, the new name begins with it, so
// that a user whose rights depend on a prefix may lock it.
LockName trial_name(const std::optional<LockName>& name);

// Runs the trial. `holder` and `rival` are two clients of one store.
Trial try_lock(LockStore& holder,
               LockStore& rival,
               const LockName& name,
               const Undisturbed& signals,
               Time until);

// Measures how long the store takes to answer inspect(). The times are also stored in `server`.
Finding measure_answers(LockStore& store, const ExamineTerms& terms, ExaminedServer& server);

Finding judge_trial(const Trial& trial);
Finding judge_turns(const Trial& trial);
// Judges the messages to the holder. `renewed_every`: how long a loss can remain unnoticed without
// messages.
Finding judge_changes(const Trial& trial, Duration renewed_every);

}  // namespace dlock
