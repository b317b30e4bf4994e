// SPDX-License-Identifier: MIT
// StoreWorker: the store thread. It carries out one Ask after the other and wakes the main thread
// with each answer. It decides nothing and retries nothing. All members are for the main thread.
#pragma once

#include "core/ask.hpp"
#include "core/lock_store.hpp"
#include "sys/wake_up.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace dlock {

// What an Ask means for one command: the call of the store, and its answer. Called on the store
// thread alone, so it may keep what it learns (the holds that were granted) in itself.
using StoreCalls = std::function<StoreAnswer(LockStore&, const action::Ask&)>;

// For a claim and what it is granted; `inspect` is of the claim's names. Never asked to revoke.
StoreCalls calls_for(Claim claim);

class StoreWorker {
 public:
  // `interrupt` is the one the store was opened with.
  StoreWorker(std::unique_ptr<LockStore> store, StoreCalls calls, const WakeUp& interrupt)
      : store_(std::move(store)), calls_(std::move(calls)), interrupt_(interrupt) {}
  StoreWorker(std::unique_ptr<LockStore> store, Claim claim, const WakeUp& interrupt)
      : StoreWorker(std::move(store), calls_for(std::move(claim)), interrupt) {}
  StoreWorker(const StoreWorker&) = delete;
  StoreWorker& operator=(const StoreWorker&) = delete;
  ~StoreWorker();  // interrupts what runs, and waits for the thread

  void ask(const action::Ask& what);  // before start(): carried out first

  Result<void> start();  // once is enough; Errc::system if there can be no thread
  void cancel();         // what runs or waits now ends soon, and still answers

  int fd() const { return answered_.fd(); }  // readable while there may be answers
  std::optional<StoreAnswer> next_answer();

 private:
  void work();

  std::unique_ptr<LockStore> store_;  // the thread's, once it runs
  StoreCalls calls_;                  // the thread's
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
