// SPDX-License-Identifier: MIT
// MemberFiber: one server of a quorum, and the fiber that carries out calls of its store in their
// order, one at a time. All is for the thread of the quorum.
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
  ~MemberFiber();  // interrupts what runs

  // Behind all that was posted before. It begins at once if there is nothing else to do.
  void post(Job job, bool may_be_cut);
  // How many are not done.
  std::size_t backlog() const { return jobs_.size(); }
  // The job that runs ends soon, if it may_be_cut and has heard nothing for so long.
  void cut(Duration age = {});

  // What the job that runs waits for: its descriptors are added to those that are polled for all.
  Time add_waits(std::vector<pollfd>& all) const;
  // Goes on, if what it waits for has come by then. `polled`: its own part of `all`.
  // Returns the end of that part.
  const pollfd* go_on(const pollfd* polled, Time now);

  // For what needs no connection: its name, its keys.
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
  std::deque<Posted> jobs_;  // the one that runs stays in front
  bool running_ = false;
  Time running_since_;
  bool stopping_ = false;
  std::unique_ptr<Fiber> fiber_;
};

}  // namespace dlock
