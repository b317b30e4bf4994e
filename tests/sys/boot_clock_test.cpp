// SPDX-License-Identifier: MIT
// BootClock on a machine that sleeps and whose wall clock jumps. Both are simulated: this program
// has its own clock_gettime(2), which adds to the clocks what a test sets.
#include "base/boot_clock.hpp"

#include <doctest/doctest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<long> g_slept_s{0};        // counted by CLOCK_BOOTTIME only
std::atomic<long> g_wall_jumped_s{0};  // seen by CLOCK_REALTIME only

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* t) noexcept {
  const auto rc = static_cast<int>(::syscall(SYS_clock_gettime, clock, t));
  if (clock == CLOCK_BOOTTIME) t->tv_sec += g_slept_s;
  if (clock == CLOCK_REALTIME) t->tv_sec += g_wall_jumped_s;
  return rc;
}

namespace dlock {

using namespace std::chrono_literals;

TEST_CASE("clock: it counts the time that the machine slept") {
  const Time before = BootClock::now();
  g_slept_s = 3600;
  const Time after = BootClock::now();
  g_slept_s = 0;
  CHECK(after - before >= 1h);
}

TEST_CASE("clock: the wall clock may jump as it likes") {
  for (const long jump : {3600L, -3600L}) {
    const Time before = BootClock::now();
    g_wall_jumped_s = jump;
    const Time after = BootClock::now();
    g_wall_jumped_s = 0;
    CHECK(after >= before);
    CHECK(after - before < 30min);
  }
}

}  // namespace dlock
