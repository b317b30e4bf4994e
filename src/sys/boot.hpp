// SPDX-License-Identifier: MIT
// Identifies the current boot of the machine, which is the same in all its containers.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dlock {

struct Boot {
  std::string id;  // the kernel's boot id; empty if a container has mounted another file over it
  Duration clock_offset{};  // how far our BootClock is ahead of the machine's (time_namespaces(7))
};

// Returns the current boot. Errc::system: there is no boot id. Errc::bad_config: the offset of a
// time namespace is unknown.
Result<Boot> this_boot();

// Returns the offset of CLOCK_BOOTTIME in the text of /proc/self/timens_offsets; nullopt: it is not
// there.
std::optional<Duration> boot_offset_in(std::string_view timens_offsets);

// Returns a text that names this boot and our pid namespace: within both a pid means one process.
// Empty if they are unknown.
std::string pid_space();

}  // namespace dlock
