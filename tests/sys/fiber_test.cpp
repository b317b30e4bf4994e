// SPDX-License-Identifier: MIT
#include "sys/fiber.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <array>
#include <string>
#include <thread>

namespace dlock {

using namespace std::chrono_literals;

namespace {

struct Pipe {
  Pipe() { REQUIRE(::pipe(ends.data()) == 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void write(char c) const { REQUIRE(::write(ends[1], &c, 1) == 1); }
  char read() const {
    char c = 0;
    REQUIRE(::read(ends[0], &c, 1) == 1);
    return c;
  }
  std::array<int, 2> ends{};
};

// Reads until a full stop, and waits before each byte.
std::string read_slowly(const Pipe& pipe) {
  std::string all;
  while (all.empty() || all.back() != '.') {
    pollfd one{pipe.ends[0], POLLIN, 0};
    REQUIRE(wait_ready(&one, 1, 60'000) == 1);
    all += pipe.read();
  }
  return all;
}

void resume_when_ready(Fiber& fiber) {
  const Fiber::Wait& wait = fiber.waits_for();
  REQUIRE(::poll(wait.fds, wait.count, 10'000) > 0);
  fiber.resume();
}

}  // namespace

TEST_CASE("fiber: two that wait are carried out by one thread, each on its own stack") {
  const Pipe a;
  const Pipe b;
  std::string from_a;
  std::string from_b;
  const auto one = Fiber::create([&] { from_a = read_slowly(a); });
  const auto other = Fiber::create([&] { from_b = read_slowly(b); });
  REQUIRE(one);
  REQUIRE(other);
  one->resume();
  other->resume();
  CHECK(one->waits_for().count == 1);
  CHECK(one->waits_for().until > BootClock::now() + 30s);
  for (const char c : std::string("xyz")) {
    b.write(c);
    resume_when_ready(*other);
    a.write(c);
    resume_when_ready(*one);
  }
  a.write('.');
  resume_when_ready(*one);
  CHECK(one->has_ended());
  CHECK_FALSE(other->has_ended());
  b.write('.');
  resume_when_ready(*other);
  CHECK(from_a == "xyz.");
  CHECK(from_b == "xyz.");
}

TEST_CASE("fiber: resumed without an answer, its wait is over") {
  int n = -1;
  const Pipe pipe;
  const auto fiber = Fiber::create([&] {
    pollfd one{pipe.ends[0], POLLIN, POLLIN};
    n = wait_ready(&one, 1, 10);
  });
  REQUIRE(fiber);
  fiber->resume();
  CHECK(fiber->waits_for().until <= BootClock::now() + 10ms);
  fiber->resume();
  CHECK(n == 0);
  CHECK(fiber->has_ended());
}

TEST_CASE("fiber: rests until it is resumed, by another thread as well") {
  int steps = 0;
  const auto fiber = Fiber::create([&] {
    ++steps;
    Fiber::rest();
    ++steps;
  });
  REQUIRE(fiber);
  CHECK(steps == 0);
  fiber->resume();
  CHECK(steps == 1);
  CHECK(fiber->waits_for().count == 0);
  CHECK(fiber->waits_for().until == Time::max());
  std::thread([&] { fiber->resume(); }).join();
  CHECK(steps == 2);
  CHECK(fiber->has_ended());
}

TEST_CASE("fiber: one that never begins is no burden, and outside of fibers wait_ready is poll") {
  CHECK(Fiber::create([] {}) != nullptr);
  const Pipe pipe;
  pollfd one{pipe.ends[0], POLLIN, 0};
  CHECK(wait_ready(&one, 1, 0) == 0);
  pipe.write('x');
  CHECK(wait_ready(&one, 1, 10'000) == 1);
}

}  // namespace dlock
