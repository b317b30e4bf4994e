// SPDX-License-Identifier: MIT
// FileEvents: what inotify(7) reports of one file or directory, and a sleep until it reports
// something. The kernel reports changes by this machine only, and drops some if they are too many:
// it says so, and that counts as an event of the path itself.
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
  // Watches nothing: wait() sleeps until its end.
  FileEvents() = default;
  // `what` are flags of inotify_add_watch(2). Errc::refused: there can be no watch.
  static Result<FileEvents> of(const std::string& path, std::uint32_t what);

  // Judges an event by the name of the file in a watched directory; empty: the path itself.
  using Concerns = std::function<bool(std::string_view name)>;
  // Takes all events so far; true if one of them concerns us.
  bool take(const Concerns& concerns) const;

  // True: an event that concerns us. False: `until` has passed. Errc::cancelled: interrupted.
  Result<bool> wait(const Concerns& concerns, Time until, const Interrupt* interrupt) const;

 private:
  UniqueFd events_;
};

}  // namespace dlock
