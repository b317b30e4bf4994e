// SPDX-License-Identifier: MIT
// Every sentence a user reads while a lock is waited for, held and lost. Lower case, one line:
// what, thing, reason, next step. What comes from others is escaped here. With --log-format json
// they are events, as dlock(1) lists them, and some that have no sentence.
#pragma once

#include "app/runner.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "core/lock_store.hpp"
#include "core/names.hpp"

#include <string>

namespace dlock {

// "held by deploy@ci-4 pid 812 for 2m10s, lease 21s left: nightly import". `seen_ago` is how old
// the holding is.
std::string holder_text(const Holding& holding, Duration seen_ago = {});

// "1st", "2nd", "3rd", "11th".
std::string ordinal(std::uint64_t number);

class Voice final : public Listener {
 public:
  Voice(LockName name, bool in_place)
      : name_(std::move(name)), quoted_(in_quotes(name_.text())), in_place_(in_place) {}

  void on_notice(const Notice& notice) override;
  void on_started(pid_t child) override;
  void on_stopped(Time safe_until, Duration left) override;
  void on_left_stopped() override;
  void on_guard(const std::string& why) override;
  // The wait is over: nothing of it stays on the terminal.
  void end_of_wait();
  // The wait was in vain.
  void busy(const Holding& holding, Duration seen_ago);

 private:
  void say(LogLevel level, LogEvent event);

  LockName name_;
  std::string quoted_;
  std::string hold_;  // its id and token, once there is one
  FencingToken token_ = 0;
  bool wait_shown_ = false;
  bool in_place_;  // stderr is a terminal: the wait is told in one line that changes
};

}  // namespace dlock
