// SPDX-License-Identifier: MIT
// What a peer that sends without end can do to a Transport, and so to every store.
#include "sys/limits.hpp"
#include "sys/transport.hpp"
#include "sys/wake_up.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "support/fake_peer.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using test::ample;

// A stream that never ends and returns this many bytes at a time.
class Endless final : public Stream {
 public:
  explicit Endless(std::size_t at_once) : at_once_(at_once) { always_.raise(); }
  int fd() const override { return always_.fd(); }
  Result<std::size_t> send(std::string_view bytes) override { return bytes.size(); }
  Result<std::size_t> receive(char* /*buffer*/, std::size_t size) override {
    const std::size_t n = std::min(size, at_once_);
    taken_ += n;
    return n;
  }
  std::size_t taken() const override { return taken_; }
  bool pending() const override { return false; }
  bool idle() override { return false; }

 private:
  std::size_t at_once_;
  std::size_t taken_ = 0;
  WakeUp always_;
};

constexpr std::size_t k_piece = std::size_t{16} << 10;

// Receives until a call fails; returns its error.
Error drain(Transport& transport, Time limit) {
  std::string buffer(k_piece, '\0');
  for (;;) {
    const auto n = transport.receive(buffer.data(), buffer.size(), limit);
    if (!n) return n.error();
  }
}

TEST_CASE("a peer that keeps sending is late when the limit has passed") {
  Transport transport(std::make_unique<Endless>(1), nullptr);
  CHECK(drain(transport, BootClock::now() + 50ms).code == Errc::timed_out);
}

TEST_CASE("an interrupt ends a call although the peer keeps sending") {
  WakeUp interrupt;
  Transport transport(std::make_unique<Endless>(1), &interrupt);
  interrupt.raise();
  const Time started = BootClock::now();
  CHECK(drain(transport, ample()).code == Errc::cancelled);
  CHECK(BootClock::now() - started < 5s);
}

TEST_CASE("a stream without an end is an error once it has sent what no answer needs") {
  Transport transport(std::make_unique<Endless>(k_piece), nullptr);
  const Error error = drain(transport, ample());
  CHECK(error.code == Errc::protocol);
  CHECK(error.text == "sends more than 4 MiB without an end");
}

TEST_CASE("each question has its own answer of 4 MiB") {
  Transport transport(std::make_unique<Endless>(k_piece), nullptr);
  std::string buffer(k_piece, '\0');
  const Time limit = ample();
  for (int questions = 0; questions < 3; ++questions) {
    REQUIRE(transport.send("?", limit).has_value());
    for (std::size_t got = 0; got < limits::k_answer_bytes; got += k_piece)
      REQUIRE(transport.receive(buffer.data(), buffer.size(), limit).has_value());
  }
}

}  // namespace
}  // namespace dlock
