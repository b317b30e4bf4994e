// SPDX-License-Identifier: MIT
// DLOCK_ASSERT: if one of our own rules is broken, the program stops, in every build. It is
// better to give no answer about a lock than a wrong one; the lease then ends by itself.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace dlock {
[[noreturn]] inline void assertion_failed(const char* what, const char* file, int line) {
  // No log and no allocation, because this may be called anywhere.
  std::fprintf(stderr, "dlock: bug: %s (%s:%d)\n", what, file, line);
  std::abort();
}
}  // namespace dlock

#define DLOCK_ASSERT(claim) \
  ((claim) ? static_cast<void>(0) : ::dlock::assertion_failed(#claim, __FILE__, __LINE__))
