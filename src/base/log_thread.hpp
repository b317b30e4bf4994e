// SPDX-License-Identifier: MIT
// LogThread: writes lines to stderr in a thread of its own, in order. For a file on a disk that may
// hang: poll(2) reports every file as writable, even if a write would block.
#pragma once

#include "base/boot_clock.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace dlock {

class LogThread {
 public:
  LogThread() : thread_([this] { work(); }) {}  // std::system_error if there can be no thread
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;
  ~LogThread();  // waits until all lines are written

  bool push(std::string line);  // false: too many lines wait, it is dropped
  // Whether all lines are written. Waits for that, but not longer than `limit`.
  bool drained(Duration limit);
  // The number of lines that could not be written since the last call.
  std::uint64_t take_failed();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable pushed_;
  std::condition_variable written_;
  std::deque<std::string> lines_;  // the first line stays until it is written
  std::uint64_t failed_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace dlock
