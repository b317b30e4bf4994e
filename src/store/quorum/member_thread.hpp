// SPDX-License-Identifier: MIT
// MemberThread: one server of a quorum, and the thread that carries out calls of its store in their
// order, one at a time. What a call is answered comes back through the Mailbox of the quorum.
// All members are for the thread of the quorum.
#pragma once

#include "core/lock_store.hpp"
#include "sys/wake_up.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace dlock {

// What comes back from the threads, to be run by the quorum's own.
class Mailbox {
 public:
  using Letter = std::function<void()>;
  void put(Letter letter);  // from any thread
  std::deque<Letter> take_all();
  const WakeUp& wake_up() const { return wake_up_; }  // raised while there may be letters

 private:
  std::mutex mutex_;
  std::deque<Letter> letters_;
  WakeUp wake_up_;
};

class MemberThread {
 public:
  using Job = std::function<void(LockStore&)>;
  using Opener = std::function<Result<std::unique_ptr<LockStore>>(const Interrupt*)>;

  static Result<std::unique_ptr<MemberThread>> open(const Opener& opener);
  MemberThread(const MemberThread&) = delete;
  MemberThread& operator=(const MemberThread&) = delete;
  ~MemberThread();  // interrupts what runs, and waits for the thread

  // Behind all that was posted before. False: there can be no thread.
  bool post(Job job, bool may_be_cut);
  // How many are not done.
  std::size_t backlog();
  // The job that runs ends soon, if it may_be_cut and began so long ago.
  void cut(Duration age = {});

  // For what needs no connection: its name, its keys.
  const LockStore& store() const { return *store_; }

 private:
  struct Posted {
    Job job;
    bool may_be_cut = false;
  };
  MemberThread() = default;
  void work();

  WakeUp cancel_;
  std::unique_ptr<LockStore> store_;  // the thread's, once it runs
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<Posted> jobs_;  // the one that runs stays in front
  bool running_ = false;
  Time running_since_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace dlock
