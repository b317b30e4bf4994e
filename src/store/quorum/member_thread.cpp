// SPDX-License-Identifier: MIT
#include "store/quorum/member_thread.hpp"

#include <system_error>
#include <utility>

namespace dlock {

void Mailbox::put(Letter letter) {
  {
    const std::lock_guard lock(mutex_);
    letters_.push_back(std::move(letter));
  }
  wake_up_.raise();
}

std::deque<Mailbox::Letter> Mailbox::take_all() {
  wake_up_.clear();
  const std::lock_guard lock(mutex_);
  return std::exchange(letters_, {});
}

Result<std::unique_ptr<MemberThread>> MemberThread::open(const Opener& opener) {
  std::unique_ptr<MemberThread> member(new MemberThread());
  if (!member->cancel_.ok()) return Error{Errc::system, "out of file descriptors"};
  auto store = opener(&member->cancel_);
  if (!store) return store.error();
  member->store_ = std::move(*store);
  return member;
}

MemberThread::~MemberThread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    cancel_.raise();
  }
  posted_.notify_one();
  thread_.join();
}

bool MemberThread::post(Job job, bool may_be_cut) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(job), may_be_cut});
  }
  posted_.notify_one();
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
    jobs_.clear();
    return false;
  }
  return true;
}

std::size_t MemberThread::backlog() {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

void MemberThread::cut(Duration age) {
  const std::lock_guard lock(mutex_);
  if (!running_ || BootClock::now() < running_since_ + age) return;
  if (jobs_.front().may_be_cut) cancel_.raise();
}

void MemberThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    posted_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    running_ = true;
    running_since_ = BootClock::now();
    const Job job = std::move(jobs_.front().job);
    lock.unlock();
    job(*store_);
    lock.lock();
    jobs_.pop_front();
    running_ = false;
    if (!stopping_) cancel_.clear();
  }
}

}  // namespace dlock
