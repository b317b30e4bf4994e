// SPDX-License-Identifier: MIT
// Every sentence a user reads while a lock is waited for, held and lost. Lower case, one line:
// what, thing, reason, next step. What comes from others is escaped here.
#pragma once

#include "app/runner.hpp"
#include "core/lock_store.hpp"

#include <string>

namespace dlock {

// "held by deploy@ci-4 pid 812 for 2m10s, lease 21s left: nightly import". `seen_ago` is how old
// the holding is.
std::string holder_text(const Holding& holding, Duration seen_ago = {});

class Voice final : public Listener {
 public:
  Voice(std::string name, bool in_place) : name_(std::move(name)), in_place_(in_place) {}

  void on_notice(const Notice& notice) override;
  void on_stopped(Duration left) override;
  void on_left_stopped() override;
  void on_guard(const std::string& why) override;
  // The wait is over: nothing of it stays on the terminal.
  void end_of_wait();

 private:
  void waiting(const Notice& notice);

  std::string name_;  // quoted
  bool wait_shown_ = false;
  bool in_place_;  // stderr is a terminal: the wait is told in one line that changes
};

}  // namespace dlock
