// SPDX-License-Identifier: MIT
// Transport over a Stream whose socket carries more bytes than the plain ones.
#include "sys/stream.hpp"

#include "sys/transport.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>

#include "support/fake_peer.hpp"

namespace dlock {
namespace {

using test::ample;
using test::FakePeer;
using test::soon;
using test::write_all;

Result<std::string> taken(Transport& transport, Time limit) {
  std::array<char, 64> buffer{};
  const auto n = transport.receive(buffer.data(), buffer.size(), limit);
  if (!n) return n.error();
  return std::string(buffer.data(), *n);
}

// Sends bytes in records "[…]", as TLS does: "[]" carries no bytes, and one read may return more
// than the caller has room for.
class RecordStream final : public Stream {
 public:
  explicit RecordStream(UniqueFd fd) : socket_(std::move(fd)) {}
  int fd() const override { return socket_.fd(); }
  std::size_t taken() const override { return socket_.taken(); }
  bool pending() const override { return !plain_.empty(); }
  bool idle() override { return read_records() && plain_.empty(); }

  Result<std::size_t> send(std::string_view bytes) override {
    const auto sent = socket_.send('[' + std::string(bytes) + ']');  // all of it, in a test
    if (!sent) return sent;
    return bytes.size();
  }

  Result<std::size_t> receive(char* buffer, std::size_t size) override {
    const bool open = plain_.empty() ? read_records() : true;
    if (!open && plain_.empty()) return Error{Errc::unavailable, "closed the connection"};
    const std::size_t n = plain_.copy(buffer, size);
    plain_.erase(0, n);
    return n;
  }

 private:
  bool read_records() {  // false: the end has come
    std::array<char, 64> wire{};
    for (;;) {
      const auto n = socket_.receive(wire.data(), wire.size());
      if (!n) return false;
      if (*n == 0) return true;
      for (const char byte : std::string_view(wire.data(), *n))
        if (byte != '[' && byte != ']') plain_ += byte;
    }
  }

  SocketStream socket_;
  std::string plain_;
};

struct Records {
  Records() : ours(connected(), nullptr), theirs(peer.accept()) {}
  std::unique_ptr<Stream> connected() const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(peer.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return std::make_unique<RecordStream>(std::move(fd));
  }
  FakePeer peer;
  Transport ours;
  UniqueFd theirs;
};

TEST_CASE("a record without data is no answer: the connection is idle and continues to wait") {
  Records pair;
  write_all(pair.theirs, "[][]");
  CHECK(taken(pair.ours, soon()).error().code == Errc::timed_out);
  CHECK(pair.ours.idle());
  write_all(pair.theirs, "[][pong]");
  const auto answer = taken(pair.ours, ample());
  REQUIRE(answer.has_value());
  CHECK(*answer == "pong");
  CHECK(pair.ours.idle());
}

TEST_CASE("data that was read with another record is received without waiting for the socket") {
  Records pair;
  write_all(pair.theirs, "[po][ng]");
  const Time limit = ample();
  while (pair.ours.idle() && BootClock::now() < limit)
    ::sched_yield();
  std::array<char, 2> small{};
  for (const std::string_view half : {"po", "ng"}) {
    CHECK_FALSE(pair.ours.idle());
    const auto n = pair.ours.receive(small.data(), small.size(), BootClock::now());
    REQUIRE(n.has_value());
    CHECK(std::string_view(small.data(), *n) == half);
  }
  CHECK(pair.ours.idle());
}

TEST_CASE("beside another connection a record without data there wakes no caller, data does") {
  Records pair;
  Records other;
  std::array<char, 4> buffer{};
  write_all(other.theirs, "[]");
  const Time limit = soon();
  auto n = pair.ours.receive(buffer.data(), buffer.size(), limit, {&other.ours});
  CHECK(n.error().code == Errc::timed_out);
  CHECK(BootClock::now() >= limit);
  write_all(other.theirs, "[x]");
  n = pair.ours.receive(buffer.data(), buffer.size(), ample(), {&other.ours});
  CHECK(n.error().code == Errc::timed_out);
  CHECK_FALSE(other.ours.idle());
  // The record was read from the socket before; it must wake the call all the same.
  n = pair.ours.receive(buffer.data(), buffer.size(), ample(), {&other.ours});
  CHECK(n.error().code == Errc::timed_out);
}

}  // namespace
}  // namespace dlock
