// SPDX-License-Identifier: MIT
#include "store/quorum/member_fiber.hpp"

#include "base/errno_text.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

Result<std::unique_ptr<MemberFiber>> MemberFiber::open(const Opener& opener) {
  std::unique_ptr<MemberFiber> member(new MemberFiber());
  if (const int error = member->cancel_.error(); error != 0)
    return Error{Errc::system, "cannot wait for events: " + errno_text(error)};
  auto store = opener(&member->cancel_);
  if (!store) return store.error();
  member->store_ = std::move(*store);
  member->fiber_ = Fiber::create([raw = member.get()] { raw->work(); });
  if (!member->fiber_) return Error{Errc::system, "out of memory"};
  return member;
}

MemberFiber::~MemberFiber() {
  if (!fiber_) return;
  stopping_ = true;
  cancel_.raise();  // ends every wait of the fiber
  while (!fiber_->has_ended()) {
    const Fiber::Wait& wait = fiber_->waits_for();
    if (wait.count > 0) ::poll(wait.fds, wait.count, 0);
    fiber_->resume();
  }
}

void MemberFiber::post(Job job, bool may_be_cut) {
  jobs_.push_back({std::move(job), may_be_cut});
  if (!running_) fiber_->resume();
}

void MemberFiber::cut(Duration age) {
  if (!running_ || BootClock::now() < running_since_ + age) return;
  if (jobs_.front().may_be_cut) cancel_.raise();
}

Time MemberFiber::add_waits(std::vector<pollfd>& all) const {
  const Fiber::Wait& wait = fiber_->waits_for();
  all.insert(all.end(), wait.fds, wait.fds + wait.count);
  return wait.until;
}

const pollfd* MemberFiber::go_on(const pollfd* polled, Time now) {
  const Fiber::Wait wait = fiber_->waits_for();
  const pollfd* const end = polled + wait.count;
  const bool ready = std::any_of(polled, end, [](const pollfd& one) { return one.revents != 0; });
  if (!running_ || (!ready && now < wait.until)) return end;
  std::copy(polled, end, wait.fds);
  if (ready) running_since_ = now;  // the server's descriptor is ready, so the server is not frozen
  fiber_->resume();
  return end;
}

void MemberFiber::work() {
  while (!stopping_) {
    if (jobs_.empty()) {
      Fiber::rest();
      continue;
    }
    running_ = true;
    running_since_ = BootClock::now();
    const Job job = std::move(jobs_.front().job);
    job(*store_);
    jobs_.pop_front();
    running_ = false;
    if (!stopping_) cancel_.clear();
  }
}

}  // namespace dlock
