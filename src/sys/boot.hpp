// SPDX-License-Identifier: MIT
// This run of the kernel, as every container of the machine sees it the same.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dlock {

struct Boot {
  std::string id;           // the kernel's; empty where a container has mounted another over it
  Duration clock_offset{};  // BootClock is that far ahead of the machine's: time_namespaces(7)
};

// Errc::system: there is no id; Errc::bad_config: a time namespace whose offset cannot be known.
Result<Boot> this_boot();

// The offset of CLOCK_BOOTTIME in the text of /proc/self/timens_offsets.
std::optional<Duration> boot_offset_in(std::string_view timens_offsets);

// This boot and our pid namespace: where the number of a process is the same process. Empty if
// that cannot be told.
std::string pid_space();

}  // namespace dlock
