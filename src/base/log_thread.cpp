// SPDX-License-Identifier: MIT
#include "base/log_thread.hpp"

#include <unistd.h>

#include <utility>

namespace dlock {

namespace {

constexpr std::size_t k_most_lines = 256;

}  // namespace

LogThread::~LogThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  pushed_.notify_one();
  thread_.join();
}

bool LogThread::push(std::string line) {
  {
    const std::lock_guard lock(mutex_);
    if (lines_.size() >= k_most_lines) return false;
    lines_.push_back(std::move(line));
  }
  pushed_.notify_one();
  return true;
}

bool LogThread::drained(Duration limit) {
  std::unique_lock lock(mutex_);
  return written_.wait_for(lock, limit, [this] { return lines_.empty(); });
}

std::uint64_t LogThread::take_failed() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failed_, 0);
}

void LogThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    pushed_.wait(lock, [this] { return stopping_ || !lines_.empty(); });
    if (lines_.empty()) return;
    const std::string& line = lines_.front();  // stays valid: a deque does not move its elements
    lock.unlock();
    const bool written =
        ::write(STDERR_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    lock.lock();
    lines_.pop_front();
    if (!written) ++failed_;
    if (lines_.empty()) written_.notify_all();
  }
}

}  // namespace dlock
