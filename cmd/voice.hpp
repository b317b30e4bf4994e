// SPDX-License-Identifier: MIT
// Makes the sentences that a user reads while dlock waits for a lock, holds it and loses it. Each
// is one line in lower case that says what happened to which lock, why, and what follows. Texts of
// other programs are escaped. With --log-format json, Voice writes the events that dlock-json(7)
// lists; some of these have no sentence.
#pragma once

#include "app/runner.hpp"
#include "base/log.hpp"
#include "cmd/holder_text.hpp"
#include "cmd/notifier.hpp"
#include "core/lock_store.hpp"
#include "core/names.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

class Voice final : public RunListener {
 public:
  // `mode` and `slots`: those of the claim. `store`: the store's address for messages. `notifier`:
  // gets the events that it wants; may be null. `one_of`: the claim is for one of the names; from
  // the grant on, the messages are about that one.
  Voice(std::vector<LockName> names,
        Mode mode,
        std::string store = "the store",
        Notifier* notifier = nullptr,
        std::uint32_t slots = 0,
        bool one_of = false);

  void on_notice(const Notice& notice) override;
  void on_started(pid_t child) override;
  void on_stopped(Time safe_until, Duration left) override;
  void on_left_stopped() override;
  void on_guard(const std::string& what) override;
  void on_acted() override;
  // Returns the interval at which the terminal row of a wait is rewritten in place; zero: stderr
  // cannot do that, or the log is JSON.
  static Duration rewrite_every();
  // Returns the report of a wait, cut to one terminal row of this many columns.
  std::string wait_row(const Notice& notice, std::size_t columns) const;
  // Removes the row of the wait, which has ended, from the terminal.
  void end_of_wait() const;
  // Reports that the wait ended without the lock.
  void busy(const Refusal& refusal, Duration seen_ago);

  // The names as they appear in a sentence.
  const std::string& names() const { return quoted_; }

 private:
  void say(LogLevel level, LogEvent event, std::string* json = nullptr);
  bool notifies(std::optional<NotifyEvent> event) const;
  void take_note(const Holds& holds);
  void look_above(const Holding& holding);  // warns if an ancestor is the holder; only once
  std::string wanted(const std::string& name) const;
  std::string others(const char* between) const;
  // How a short row begins: with the lock's name, without it, or without the name and the place in
  // the line.
  enum class Start { full, no_name, no_place };
  std::string wait_text(const Notice& notice, Detail detail, Start start = Start::full) const;
  std::string name_of(std::optional<std::size_t> which) const;  // nullopt: all names

  std::vector<LockName> names_;
  std::string quoted_;
  Mode mode_;
  std::string store_;
  Notifier* notifier_;
  std::uint32_t slots_;
  bool one_of_;  // and it is not known yet which
  Holds holds_;  // set once the lock is held
  bool wait_told_ = false;
  bool looked_above_ = false;
};

}  // namespace dlock
