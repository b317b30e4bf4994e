// SPDX-License-Identifier: MIT
#include "sys/deadline_timer.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>

#include <fstream>
#include <string>

namespace dlock {

using namespace std::chrono_literals;

namespace {
bool fires(const DeadlineTimer& timer, int ms) {
  pollfd wait{.fd = timer.fd(), .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, ms) == 1;
}
}  // namespace

TEST_CASE("timer: fires when its time has come, not before") {
  DeadlineTimer timer;
  REQUIRE(timer.error() == 0);
  const Time deadline = BootClock::now() + 50ms;
  timer.set(deadline);
  REQUIRE(fires(timer, 10000));
  CHECK(BootClock::now() >= deadline);
}

TEST_CASE("timer: a time in the past fires at once, also the earliest possible") {
  for (const Time past : {BootClock::now() - 1s, Time(), Time(-5s)}) {
    DeadlineTimer timer;
    timer.set(past);
    CHECK(fires(timer, 1000));
  }
}

TEST_CASE("timer: no deadline disarms the timer") {
  DeadlineTimer timer;
  CHECK_FALSE(fires(timer, 20));
  timer.set(BootClock::now() + 10ms);
  timer.set({});
  CHECK_FALSE(fires(timer, 40));
}

TEST_CASE("timer: the newest deadline counts, earlier or later") {
  DeadlineTimer timer;
  timer.set(BootClock::now() + 1h);
  timer.set(BootClock::now() + 5ms);
  CHECK(fires(timer, 10000));
  timer.set(BootClock::now() + 1h);
  CHECK_FALSE(fires(timer, 20));
}

TEST_CASE("timer: the time that the machine sleeps counts") {
  const DeadlineTimer timer;
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(timer.fd()));
  std::string word;
  int clock = -1;
  while (info >> word) {
    if (word == "clockid:") info >> clock;
  }
  CHECK(clock == CLOCK_BOOTTIME);
}

TEST_CASE("timer: the child does not inherit the descriptor") {
  const DeadlineTimer timer;
  CHECK((::fcntl(timer.fd(), F_GETFD) & FD_CLOEXEC) != 0);
}

}  // namespace dlock
