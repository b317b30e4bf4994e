// SPDX-License-Identifier: MIT
// FileEvents: the events that inotify(7) reports for one file or directory, and a wait for them.
// The kernel reports only changes made on this machine. If there are too many events, the kernel
// drops some and reports that; this report counts as an event of the path itself.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/interrupt.hpp"
#include "sys/unique_fd.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace dlock {

class FileEvents {
 public:
  // Watches nothing: wait() sleeps until its time is over.
  FileEvents() = default;
  // Watches a file or directory for the events `what` (flags of inotify_add_watch(2)).
  // Errc::refused: the path cannot be watched.
  static Result<FileEvents> of(const std::string& path, std::uint32_t what);

  // A function that says whether an event matters. `name`: the file in the watched directory that
  // has changed; empty: the event is about the watched path itself.
  using Concerns = std::function<bool(std::string_view name)>;
  // Takes all events so far; returns whether one of them matters.
  bool take(const Concerns& concerns) const;

  // Waits for an event that matters. True: there is one. False: `until` has passed.
  // Errc::cancelled: the interrupt ended the wait.
  Result<bool> wait(const Concerns& concerns, Time until, const Interrupt* interrupt) const;

 private:
  UniqueFd events_;
};

}  // namespace dlock
