// SPDX-License-Identifier: MIT
// The wall clock of this host. It can jump, so nothing is decided by it: it is for display, and
// gives the least value of a fencing token.
#pragma once

#include <chrono>
#include <cstdint>

namespace dlock {

// Returns microseconds since 1970.
inline std::int64_t wall_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::floor<std::chrono::microseconds>(now).count();
}

}  // namespace dlock
