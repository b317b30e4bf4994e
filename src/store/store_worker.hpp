// SPDX-License-Identifier: MIT
// StoreWorker: the store thread. It carries out what a session asks of the store, one thing after
// the other, and wakes the main thread with each answer. It decides nothing and retries nothing.
// All members are for the main thread.
#pragma once

#include "core/lock_store.hpp"
#include "core/run_session.hpp"
#include "sys/wake_up.hpp"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace dlock {

class StoreWorker {
 public:
  // `interrupt` is the one the store was opened with.
  StoreWorker(std::unique_ptr<LockStore> store, Claim claim, const WakeUp& interrupt)
      : store_(std::move(store)), claim_(std::move(claim)), interrupt_(interrupt) {}
  StoreWorker(const StoreWorker&) = delete;
  StoreWorker& operator=(const StoreWorker&) = delete;
  ~StoreWorker();  // interrupts what runs, and waits for the thread

  void ask(const action::Ask& what);  // before start(): carried out first

  Result<void> start();  // Errc::system if there can be no thread
  void cancel();         // what runs or waits now ends soon, and still answers

  int fd() const { return answered_.fd(); }  // readable while there may be answers
  std::optional<StoreAnswer> next_answer();

 private:
  void work();
  StoreAnswer carry_out(const action::Ask& what);

  std::unique_ptr<LockStore> store_;  // the thread's, once it runs
  Claim claim_;
  Holds holds_;  // the thread's
  const WakeUp& interrupt_;
  WakeUp answered_;
  std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<action::Ask> asks_;
  std::deque<StoreAnswer> answers_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace dlock
