// SPDX-License-Identifier: MIT
// MemberFiber: one server of a quorum, and the fiber that carries out calls to its store in their
// order, one at a time. Used only by the thread of the quorum.
#pragma once

#include "core/lock_store.hpp"
#include "sys/fiber.hpp"
#include "sys/wake_up.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace dlock {

class MemberFiber {
 public:
  using Job = std::function<void(LockStore&)>;
  using Opener = std::function<Result<std::unique_ptr<LockStore>>(const Interrupt*)>;

  static Result<std::unique_ptr<MemberFiber>> open(const Opener& opener);
  MemberFiber(const MemberFiber&) = delete;
  MemberFiber& operator=(const MemberFiber&) = delete;
  ~MemberFiber();  // interrupts the running job

  // Queues the job behind the jobs that were posted before. An idle fiber begins it at once.
  // `may_be_cut`: cut() may end the job.
  void post(Job job, bool may_be_cut);
  // Returns the number of jobs that are not done.
  std::size_t backlog() const { return jobs_.size(); }
  // Ends the running job soon, if it was posted with may_be_cut and its server has been silent for
  // `age`.
  void cut(Duration age = {});

  // Adds to `all` the descriptors that the running job waits for. Returns the time at which that
  // wait is over.
  Time add_waits(std::vector<pollfd>& all) const;
  // Continues the job if a descriptor is ready or the wait's time is over. `polled`: the part of
  // `all` that add_waits() added. Returns the end of that part.
  const pollfd* go_on(const pollfd* polled, Time now);

  // Returns the server's store, for calls that need no connection: names and keys.
  const LockStore& store() const { return *store_; }

 private:
  struct Posted {
    Job job;
    bool may_be_cut = false;
  };
  MemberFiber() = default;
  void work();

  WakeUp cancel_;
  std::unique_ptr<LockStore> store_;
  std::deque<Posted> jobs_;  // the first is the running job
  bool running_ = false;
  Time running_since_;
  bool stopping_ = false;
  std::unique_ptr<Fiber> fiber_;
};

}  // namespace dlock
