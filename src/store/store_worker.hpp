// SPDX-License-Identifier: MIT
// StoreWorker: carries out one Ask after the other, on the thread of its owner until start(), on
// the store thread from then on. It decides nothing and retries nothing. All members are for the
// main thread.
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

// Carries out an Ask for one command: calls the store and returns its answer. Called by one thread
// at a time, so it may keep what it learns (the granted holds) in itself.
using StoreCalls = std::function<StoreAnswer(LockStore&, const action::Ask&)>;

// The calls for a claim and its holds; `inspect` looks at the claim's names.
StoreCalls calls_for(Claim claim);

class StoreWorker {
 public:
  // `interrupt`: the one with which the store was opened; ours as long as we live.
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
  // The running or waiting ask ends soon, and still gets an answer.
  void cancel();
  // errno if it cannot work, else 0.
  int error() const { return cancel_.error() != 0 ? cancel_.error() : answered_.error(); }

  // StoreTraits::may_hang of the store.
  bool may_hang() const { return may_hang_; }

  // --- without the thread --------------------------------------------------------------------
  bool has_work_here() const { return !threaded_ && !asks_.empty(); }
  // Carries out the oldest ask. `beside` is the interrupt of its call: it may ask() and cancel().
  // The call also ends when cancelled() is true.
  StoreAnswer work_here(const Interrupt& beside);
  bool cancelled() const { return cancelled_; }

  // --- with the thread -----------------------------------------------------------------------
  // From now on a thread carries out asks. Once is enough. False: there can be no thread, or
  // work_here() is running; then nothing changes.
  bool start();
  bool threaded() const { return threaded_; }
  int fd() const { return answered_.fd(); }  // readable while there may be answers
  std::optional<StoreAnswer> next_answer();

 private:
  StoreAnswer carry_out(const action::Ask& ask);
  void work();
  void interrupt();
  void done();

  std::unique_ptr<LockStore> store_;  // the thread's, once it runs
  StoreCalls calls_;                  // the thread's
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
