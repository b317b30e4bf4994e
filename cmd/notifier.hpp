// SPDX-License-Identifier: MIT
// --notify: runs the user's command at the events of --notify-on. An event is noted when it is
// reported, and the command starts when dlock has done what the event asks for, such as stopping
// the command under the lock. What the command does changes nothing for the run.
#pragma once

#include "cmd/notify_events.hpp"
#include "cmd/settings.hpp"
#include "core/names.hpp"
#include "sys/side_command.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

class Notifier {
 public:
  // To be made before another thread starts. `signals` must outlive it.
  Notifier(const Settings& settings, const std::vector<LockName>& names, const Signals& signals);

  // Returns whether the event is in the list and has not been noted yet.
  bool wants(NotifyEvent event) const;
  // Notes an event that wants(). `json`: its line of the JSON log. `outcome`: empty if not known.
  void note(NotifyEvent event, std::string json, std::string_view outcome);
  // Says in DLOCK_NAME, from now on, which of several names the run got.
  void call_lock(const std::vector<LockName>& names);
  // Starts the command for each event noted since the last call. On the main thread.
  void start_noted();
  // Waits for the commands that run, not longer than their limit, and reports those that failed.
  void wait();

 private:
  struct Noted {
    NotifyEvent event;
    std::string json;
    std::string outcome;
  };

  std::vector<std::string> words_;
  std::vector<NotifyEvent> wanted_;
  std::vector<std::string> environment_;
  const Signals& signals_;
  std::vector<Noted> noted_;
  std::vector<SideCommand> running_;
};

}  // namespace dlock
