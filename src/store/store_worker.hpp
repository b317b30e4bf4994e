// SPDX-License-Identifier: MIT
// StoreWorker: carries out one Ask after the other: before start() on its owner's thread, after it
// on the store thread. It decides nothing and repeats nothing. All members are called by the main
// thread.
#pragma once

#include "core/ask.hpp"
#include "core/lock_store.hpp"
#include "sys/interrupt.hpp"
#include "sys/wake_up.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace dlock {

// Carries out one Ask: calls the store and returns its answer. Called by one thread at a time, so
// it may remember things (the granted holds).
using StoreCalls = std::function<StoreAnswer(LockStore&, const action::Ask&)>;

// Returns the function that calls the store for this claim and its holds; for `inspect` it looks at
// the claim's names.
StoreCalls calls_for(Claim claim);

class StoreWorker {
 public:
  // `interrupt`: the interrupt with which the store was opened. Nothing else may use it while the
  // worker exists.
  StoreWorker(std::unique_ptr<LockStore> store, StoreCalls calls, InterruptSlot& interrupt)
      : store_(std::move(store)),
        calls_(std::move(calls)),
        interrupt_(interrupt),
        may_hang_(store_->traits().may_hang) {}
  StoreWorker(std::unique_ptr<LockStore> store, Claim claim, InterruptSlot& interrupt)
      : StoreWorker(std::move(store), calls_for(std::move(claim)), interrupt) {}
  StoreWorker(const StoreWorker&) = delete;
  StoreWorker& operator=(const StoreWorker&) = delete;
  ~StoreWorker();  // interrupts the running call, and waits for the thread

  void ask(const action::Ask& what);
  // Ends the running or waiting ask soon; it still gets an answer.
  void cancel();
  // Returns the errno if the worker could not be set up, otherwise 0.
  int error() const { return cancel_.error() != 0 ? cancel_.error() : answered_.error(); }

  // Returns StoreTraits::may_hang of the store.
  bool may_hang() const { return may_hang_; }

  // --- without the thread --------------------------------------------------------------------
  bool has_work_here() const { return !threaded_ && !asks_.empty(); }
  // Carries out the oldest ask. `beside`: the interrupt of that call; it may call ask() and
  // cancel(). It must also end the call when cancelled() is true.
  StoreAnswer work_here(const Interrupt& beside);
  bool cancelled() const { return cancelled_; }

  // --- with the thread -----------------------------------------------------------------------
  // Starts the thread, which carries out all further asks. Further calls do nothing. False: no
  // thread can be started, or work_here() is running; then nothing changes.
  bool start();
  bool threaded() const { return threaded_; }
  int fd() const { return answered_.fd(); }  // readable while there may be answers
  std::optional<StoreAnswer> next_answer();

 private:
  StoreAnswer carry_out(const action::Ask& ask);
  void work();
  void interrupt();
  void done();

  std::unique_ptr<LockStore> store_;  // used by the thread, once it runs
  StoreCalls calls_;                  // used by the thread, once it runs
  InterruptSlot& interrupt_;
  bool may_hang_;
  WakeUp cancel_;  // ends the running call on the store thread
  WakeUp answered_;
  bool working_here_ = false;
  bool threaded_ = false;
  bool cancelled_ = false;  // the running call, or the next one, is cancelled
  std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<action::Ask> asks_;
  std::deque<StoreAnswer> answers_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace dlock
