// SPDX-License-Identifier: MIT
#include "sys/wake_up.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>

#include <thread>

namespace dlock {

namespace {
bool readable(int fd, int ms) {
  pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, ms) == 1;
}
}  // namespace

TEST_CASE("wake-up: a wake-up before the sleep is not lost, and lasts until it is cleared") {
  const WakeUp wake_up;
  REQUIRE(wake_up.error() == 0);
  CHECK_FALSE(readable(wake_up.fd(), 0));
  wake_up.raise();
  wake_up.raise();
  CHECK(readable(wake_up.fd(), 0));
  CHECK(readable(wake_up.fd(), 0));
  wake_up.clear();
  CHECK_FALSE(readable(wake_up.fd(), 0));
  wake_up.clear();  // nothing to clear: does not block
}

TEST_CASE("wake-up: a thread ends the poll of another") {
  const WakeUp wake_up;
  std::thread other([&] { wake_up.raise(); });
  CHECK(readable(wake_up.fd(), 10000));
  other.join();
}

TEST_CASE("wake-up: the child does not inherit the descriptor") {
  const WakeUp wake_up;
  CHECK((::fcntl(wake_up.fd(), F_GETFD) & FD_CLOEXEC) != 0);
}

}  // namespace dlock
