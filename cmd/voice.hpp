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
#include <vector>

namespace dlock {

// "held by deploy@ci-4 pid 812 for 2m10s, lease 21s left: nightly import", "held shared by … and 2
// others, …", "2 of 3 slots held, by … and 1 other, …", "kept by … for 12s more (--min-hold)".
// `seen_ago` is how old the holding is.
std::string holder_text(const Holding& holding, Duration seen_ago = {});

// Why waiting would be for ourselves: "held shared by the run above this one: an exclusive hold
// would wait for itself". `mode` is what was asked for.
std::string self_deadlock_text(const Holding& holding, Mode mode);

// "1st", "2nd", "3rd", "11th".
std::string ordinal(std::uint64_t number);

class Voice final : public Listener {
 public:
  // `mode` is what is asked for, `store` where: LockStore::where().
  Voice(std::vector<LockName> names, Mode mode, bool in_place, std::string store = "the store");

  void on_notice(const Notice& notice) override;
  void on_started(pid_t child) override;
  void on_stopped(Time safe_until, Duration left) override;
  void on_left_stopped() override;
  void on_guard(const std::string& what) override;
  // The wait is over: nothing of it stays on the terminal.
  void end_of_wait();
  // The wait was in vain.
  void busy(const Holding& holding, Duration seen_ago);

  // In a sentence.
  const std::string& names() const { return quoted_; }

 private:
  void say(LogLevel level, LogEvent event);
  std::string name_of(std::optional<std::size_t> which) const;  // none: all of them

  std::vector<LockName> names_;
  std::string quoted_;
  Mode mode_;
  std::string store_;
  Holds holds_;  // once there are some
  bool wait_shown_ = false;
  bool in_place_;  // stderr is a terminal: the wait is told in one line that changes
};

}  // namespace dlock
