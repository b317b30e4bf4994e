// SPDX-License-Identifier: MIT
#include "sys/intake.hpp"

#include "sys/unique_fd.hpp"

#include <doctest/doctest.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>

#include "support/fake_peer.hpp"

namespace dlock {
namespace {

using test::ample;

// Ends one call, and is over then.
class OneInterrupt : public Interrupt {
 public:
  int fd() const override { return fd_.get(); }
  bool ends_call() const override {
    std::uint64_t count = 0;
    return ::read(fd_.get(), &count, sizeof count) == sizeof count;
  }

 private:
  UniqueFd fd_{::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)};
};

TEST_CASE("intake: an answer that is there counts, and leaves the interrupt for the next wait") {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const UniqueFd from(pipe[0]);
  const UniqueFd to(pipe[1]);
  REQUIRE(::write(to.get(), "a", 1) == 1);
  const OneInterrupt interrupt;
  Intake intake;
  const Time limit = ample();
  intake.begin(limit);
  CHECK(intake.wait_for(from.get(), POLLIN, &interrupt, limit) == Wake::ready);
  char byte = 0;
  REQUIRE(::read(from.get(), &byte, 1) == 1);
  CHECK(intake.wait_for(from.get(), POLLIN, &interrupt, limit) == Wake::interrupted);
}

}  // namespace
}  // namespace dlock
