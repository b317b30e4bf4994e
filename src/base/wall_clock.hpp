// SPDX-License-Identifier: MIT
// The wall clock of this host. It can jump, so no time limit depends on it. It is for display, and
// some stores take it as the least value of the next fencing token.
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
