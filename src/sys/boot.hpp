// SPDX-License-Identifier: MIT
// The current boot of the machine, equal in all its containers.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dlock {

struct Boot {
  std::string id;           // the kernel's; empty if a container has mounted another file over it
  Duration clock_offset{};  // how far BootClock is ahead of the machine's: time_namespaces(7)
};

// Errc::system: there is no id; Errc::bad_config: a time namespace whose offset is unknown.
Result<Boot> this_boot();

// The offset of CLOCK_BOOTTIME in the text of /proc/self/timens_offsets.
std::optional<Duration> boot_offset_in(std::string_view timens_offsets);

// This boot and our pid namespace: within it a pid means the same process. Empty if they are
// unknown.
std::string pid_space();

}  // namespace dlock
