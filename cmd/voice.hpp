// SPDX-License-Identifier: MIT
// Every sentence a user reads while a lock is waited for, held and lost. Lower case, one line:
// what, thing, reason, next step. Foreign texts are escaped here. With --log-format json these are
// events, as dlock(1) lists them, and some events have no sentence.
#pragma once

#include "app/runner.hpp"
#include "base/log.hpp"
#include "cmd/holder_text.hpp"
#include "core/lock_store.hpp"
#include "core/names.hpp"

#include <string>
#include <vector>

namespace dlock {

class Voice final : public RunListener {
 public:
  // `mode`: the wanted mode; `store`: LockStore::where().
  Voice(std::vector<LockName> names, Mode mode, std::string store = "the store");

  void on_notice(const Notice& notice) override;
  void on_started(pid_t child) override;
  void on_stopped(Time safe_until, Duration left) override;
  void on_left_stopped() override;
  void on_guard(const std::string& what) override;
  // How often the row of a wait is rewritten; zero if stderr is no terminal that can do that.
  static Duration rewrite_every();
  // The report of a wait, cut to one row of this many columns.
  std::string wait_row(const Notice& notice, std::size_t columns) const;
  // The wait is over: removes its row from the terminal.
  void end_of_wait() const;
  // The wait was in vain.
  void busy(const Refusal& refusal, Duration seen_ago);

  // The names as they stand in a sentence.
  const std::string& names() const { return quoted_; }

 private:
  void say(LogLevel level, LogEvent event);
  void look_above(const Holding& holding);  // once
  std::string wanted(const std::string& name) const;
  // The lock, the waiting time and the place: which of them a short row begins with.
  enum class Start { full, no_name, no_place };
  std::string wait_text(const Notice& notice, Detail detail, Start start = Start::full) const;
  std::string name_of(std::optional<std::size_t> which) const;  // nothing: all of them

  std::vector<LockName> names_;
  std::string quoted_;
  Mode mode_;
  std::string store_;
  Holds holds_;  // set once there are holds
  bool wait_told_ = false;
  bool looked_above_ = false;
};

}  // namespace dlock
