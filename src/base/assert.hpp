// SPDX-License-Identifier: MIT
// DLOCK_ASSERT: a broken rule of our own stops the program, in every build. A wrong answer about a
// lock is worse than no answer; the lease then ends by itself.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace dlock {
[[noreturn]] inline void assertion_failed(const char* what, const char* file, int line) {
  // No log, no allocation: this may run anywhere.
  std::fprintf(stderr, "dlock: bug: %s (%s:%d)\n", what, file, line);
  std::abort();
}
}  // namespace dlock

#define DLOCK_ASSERT(claim) \
  ((claim) ? static_cast<void>(0) : ::dlock::assertion_failed(#claim, __FILE__, __LINE__))
