// SPDX-License-Identifier: MIT
// StoreWorker: carries out requests to the store (Ask), one after the other. Before start() it
// works on the main thread, afterwards on the store thread. It decides nothing and repeats no
// request. Only the main thread calls its functions.
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

// Calls the store for one Ask and returns the store's answer. Only one thread at a time calls this
// function, so it may keep data from one call to the next, such as the granted holds.
using StoreCalls = std::function<StoreAnswer(LockStore&, const action::Ask&)>;

// Returns the function that calls the store for this claim and for the holds that the claim was
// granted. The function answers an Ask to inspect with the state of one of the claim's names.
StoreCalls calls_for(Claim claim);

class StoreWorker {
 public:
  // `interrupt` is the slot with which the store was opened. The worker puts its own interrupts
  // into the slot, so nothing else may use the slot while the worker exists.
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
  // Ends the oldest unanswered Ask soon, whether its call already runs or not. The Ask still gets
  // an answer.
  void cancel();
  // Returns 0, or the errno of the failure if the worker could not be set up.
  int error() const { return cancel_.error() != 0 ? cancel_.error() : answered_.error(); }

  // Returns whether the store may hang in the kernel (StoreTraits::may_hang).
  bool may_hang() const { return may_hang_; }

  // --- without the thread --------------------------------------------------------------------
  bool has_work_here() const { return !threaded_ && !asks_.empty(); }
  // Carries out the oldest Ask on this thread. `beside` is the interrupt of that call. `beside` may
  // call ask() and cancel(), and must end the call as soon as cancelled() is true.
  StoreAnswer work_here(const Interrupt& beside);
  bool cancelled() const { return cancelled_; }

  // --- with the thread -----------------------------------------------------------------------
  // Starts the store thread, which carries out all further Asks. Returns true if the thread runs
  // already. Returns false, and changes nothing, if no thread can be started or work_here() is
  // running.
  bool start();
  bool threaded() const { return threaded_; }
  int fd() const { return answered_.fd(); }  // readable when next_answer() may have an answer
  std::optional<StoreAnswer> next_answer();

 private:
  StoreAnswer carry_out(const action::Ask& ask);
  void work();
  void interrupt();
  void done();

  std::unique_ptr<LockStore> store_;  // used only by the store thread, once it runs
  StoreCalls calls_;                  // used only by the store thread, once it runs
  InterruptSlot& interrupt_;
  bool may_hang_;
  WakeUp cancel_;  // ends the running call on the store thread
  WakeUp answered_;
  bool working_here_ = false;
  bool threaded_ = false;
  bool cancelled_ = false;  // the running call, or the next one, is to end
  std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<action::Ask> asks_;
  std::deque<StoreAnswer> answers_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace dlock
