// SPDX-License-Identifier: MIT
// MemberFiber: one server of a quorum, and the fiber that carries out calls of its store in their
// order, one at a time. Used by the quorum's thread alone.
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

  // Queues the job behind those posted before. An idle fiber begins it at once.
  void post(Job job, bool may_be_cut);
  // The number of jobs that are not done.
  std::size_t backlog() const { return jobs_.size(); }
  // Ends the running job soon, if it may_be_cut and its server has been silent for `age`.
  void cut(Duration age = {});

  // Adds to `all` the descriptors that the running job waits for. Returns the time at which the
  // wait ends.
  Time add_waits(std::vector<pollfd>& all) const;
  // Goes on with the job if what it waits for is there, or its time has come. `polled`: the part of
  // `all` that add_waits() added. Returns the end of that part.
  const pollfd* go_on(const pollfd* polled, Time now);

  // For calls that need no connection: name and keys.
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
  std::deque<Posted> jobs_;  // the running job is the first
  bool running_ = false;
  Time running_since_;
  bool stopping_ = false;
  std::unique_ptr<Fiber> fiber_;
};

}  // namespace dlock
