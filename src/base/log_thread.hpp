// SPDX-License-Identifier: MIT
// LogThread: writes lines to stderr in order, in a thread of its own. It is used if stderr is a
// file: the disk may hang, and poll(2) reports a file as writable even if a write would block.
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
  // Throws std::system_error if no thread can be started.
  LogThread() : thread_([this] { work(); }) {}
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;
  ~LogThread();  // waits until all lines are written

  bool push(std::string line);  // false: the line is dropped, because too many lines are waiting
  // Waits until all lines are written, but at most for `limit`. Returns whether all lines are
  // written.
  bool drained(Duration limit);
  // Returns how many lines could not be written since the last call.
  std::uint64_t take_failed();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable pushed_;
  std::condition_variable written_;
  std::deque<std::string> lines_;  // the first line stays here until it is written
  std::uint64_t failed_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // the last member, because it uses the others
};

}  // namespace dlock
