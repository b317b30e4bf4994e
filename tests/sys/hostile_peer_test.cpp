// SPDX-License-Identifier: MIT
// What a peer that never stops sending can do to a Transport, under every store.
#include "sys/limits.hpp"
#include "sys/transport.hpp"
#include "sys/wake_up.hpp"

#include <doctest/doctest.h>

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "support/fake_peer.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using test::ample;
using test::FakePeer;

// Writes for as long as it lives.
class Flood {
 public:
  explicit Flood(const UniqueFd& to) : thread_([this, &to] { run(to.get()); }) {}
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;
  ~Flood() {
    over_ = true;
    thread_.join();
  }

 private:
  void run(int fd) {
    const std::string much(std::size_t{64} << 10, 'x');
    while (!over_)
      if (::send(fd, much.data(), much.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        std::this_thread::yield();
  }
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

struct Flooded {
  explicit Flooded(const Interrupt* interrupt = nullptr)
      : ours(Transport::connect(
            {.host = "127.0.0.1", .port = peer.port(), .socket_path = {}}, ample(), interrupt)),
        theirs(peer.accept()),
        flood(theirs) {
    REQUIRE(ours.has_value());
  }

  // Until the call fails.
  Error drain(Time limit, std::size_t at_once) {
    std::string buffer(at_once, '\0');
    for (;;) {
      const auto n = ours->receive(buffer.data(), buffer.size(), limit);
      if (!n) return n.error();
    }
  }

  FakePeer peer;
  Result<Transport> ours;
  UniqueFd theirs;
  Flood flood;
};

TEST_CASE("a peer that keeps sending is late when the limit has passed") {
  Flooded pair;
  const Error error = pair.drain(BootClock::now() + 50ms, 1);  // too slow for a flood of bytes
  CHECK(error.code == Errc::timed_out);
}

TEST_CASE("an interrupt ends a call although the peer keeps sending") {
  WakeUp interrupt;
  Flooded pair(&interrupt);
  interrupt.raise();
  const Error error = pair.drain(ample(), 1);
  CHECK(error.code == Errc::cancelled);
}

TEST_CASE("a stream without an end is an error once it has sent what no answer needs") {
  Flooded pair;
  const Error error = pair.drain(ample(), std::size_t{16} << 10);
  CHECK(error.code == Errc::protocol);
  CHECK(error.text == "sends more than 4 MiB without an end");
}

TEST_CASE("each question has its own answer of 4 MiB") {
  Flooded pair;
  std::string buffer(limits::k_answer_bytes / 2, '\0');
  const Time limit = ample();
  for (int i = 0; i < 4; ++i) {
    REQUIRE(pair.ours->send("?", limit).has_value());
    for (std::size_t got = 0; got < buffer.size();) {
      const auto n = pair.ours->receive(buffer.data(), buffer.size() - got, limit);
      REQUIRE(n.has_value());
      got += *n;
    }
  }
}

}  // namespace
}  // namespace dlock
