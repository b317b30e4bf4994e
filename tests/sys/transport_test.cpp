// SPDX-License-Identifier: MIT
#include "sys/transport.hpp"

#include "sys/resolver.hpp"
#include "sys/wake_up.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "support/fake_peer.hpp"
#include "support/temp_dir.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using test::ample;
using test::DeafPort;
using test::FakePeer;
using test::read_until;
using test::soon;
using test::TempDir;
using test::write_all;

Endpoint loopback(std::uint16_t port) {
  return {.host = "127.0.0.1", .port = port, .socket_path = {}};
}

Endpoint unix_socket(std::string path) {
  return {.host = {}, .port = 0, .socket_path = std::move(path)};
}

struct Pair {
  explicit Pair(const Interrupt* interrupt = nullptr)
      : ours(Transport::connect(loopback(peer.port()), ample(), interrupt)), theirs(peer.accept()) {
    REQUIRE(ours.has_value());
  }
  FakePeer peer;
  Result<Transport> ours;
  UniqueFd theirs;
};

Result<std::string> receive(Transport& transport, Time limit) {
  std::array<char, 64> buffer{};
  const auto n = transport.receive(buffer.data(), buffer.size(), limit);
  if (!n) return n.error();
  return std::string(buffer.data(), *n);
}

// Waits until the bytes or the end that the peer sent last have arrived.
void await_noise(Transport& transport) {
  const Time limit = ample();
  while (transport.idle() && BootClock::now() < limit)
    ::sched_yield();
}

TEST_CASE("bytes that were sent arrive, and the reply is received") {
  Pair pair;
  REQUIRE(pair.ours->send("ping", ample()).has_value());
  CHECK(read_until(pair.theirs, "ping") == "ping");
  write_all(pair.theirs, "pong");
  const auto answer = receive(*pair.ours, ample());
  REQUIRE(answer.has_value());
  CHECK(*answer == "pong");
}

// Acts as a stop of this process (SIGTSTP) during a call: the call takes longer than its limit, and
// the reply comes meanwhile.
class Stop : public Interrupt {
 public:
  Stop(const UniqueFd& peer, Time until) : peer_(peer), until_(until) { wake_.raise(); }
  int fd() const override { return wake_.fd(); }
  bool ends_call() const override {
    write_all(peer_, "pong");
    while (BootClock::now() <= until_)
      ::sched_yield();
    wake_.clear();
    return false;
  }

 private:
  const UniqueFd& peer_;
  Time until_;
  mutable WakeUp wake_;
};

TEST_CASE("a reply that has arrived wins over a limit that passed beside the call") {
  InterruptSlot slot;
  Pair pair(&slot);
  const Time limit = BootClock::now() + 200ms;
  const Stop stop(pair.theirs, limit);
  slot.set(&stop);
  const auto answer = receive(*pair.ours, limit);
  REQUIRE(answer.has_value());
  CHECK(*answer == "pong");
}

TEST_CASE("a port without a listener is reported: connection refused") {
  const DeafPort deaf;
  const auto transport = Transport::connect(loopback(deaf.port), ample(), nullptr);
  REQUIRE_FALSE(transport.has_value());
  CHECK(transport.error().code == Errc::not_listening);
  CHECK(transport.error().text == "connection refused");
}

TEST_CASE("a silent peer costs no more than the limit, and the error names the peer") {
  Pair pair;
  // A little of it may be gone when the wait begins; it is told in tenths of a second.
  const auto answer = receive(*pair.ours, BootClock::now() + 1090ms);
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::timed_out);
  CHECK(answer.error().text == "no answer within 1s");
}

TEST_CASE("after the limit pending bytes are received without a wait") {
  Pair pair;
  const auto nothing = receive(*pair.ours, Time{});
  REQUIRE_FALSE(nothing.has_value());
  CHECK(nothing.error().code == Errc::timed_out);
  write_all(pair.theirs, "late");
  await_noise(*pair.ours);
  CHECK(receive(*pair.ours, Time{}).has_value());
}

TEST_CASE("a peer that reads nothing cannot hold a sender beyond the limit") {
  Pair pair;
  const std::string much(std::size_t{64} << 20, 'x');
  const auto sent = pair.ours->send(much, soon());
  REQUIRE_FALSE(sent.has_value());
  CHECK(sent.error().code == Errc::timed_out);
}

TEST_CASE("all of a message that does not fit into the socket's buffer is sent") {
  Pair pair;
  const std::string much(std::size_t{8} << 20, 'x');
  std::string got;
  std::thread reader([&] { got = read_until(pair.theirs, "end"); });
  const auto sent = pair.ours->send(much + "end", ample());
  reader.join();
  CHECK(sent.has_value());
  CHECK(got.size() == much.size() + 3);
}

TEST_CASE("a byte now and then does not move the limit") {
  Pair pair;
  const Time limit = soon();
  // The next byte is sent when the last one was taken, until the limit has passed.
  while (BootClock::now() < limit) {
    write_all(pair.theirs, "x");
    CHECK(receive(*pair.ours, limit + 10s).has_value());
  }
  const auto answer = receive(*pair.ours, limit);
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::timed_out);
}

TEST_CASE("the end of the stream is unavailable: closed the connection") {
  Pair pair;
  write_all(pair.theirs, "half");
  pair.theirs.reset();
  const auto half = receive(*pair.ours, ample());
  REQUIRE(half.has_value());
  CHECK(*half == "half");
  const auto end = receive(*pair.ours, ample());
  REQUIRE_FALSE(end.has_value());
  CHECK(end.error().code == Errc::unavailable);
  CHECK(end.error().text == "closed the connection");
}

TEST_CASE("a connection that the peer resets is unavailable, and no signal is raised") {
  Pair pair;
  const linger at_once{1, 0};
  ::setsockopt(pair.theirs.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  pair.theirs.reset();
  const auto answer = receive(*pair.ours, ample());
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::unavailable);
  const auto sent = pair.ours->send("x", ample());
  REQUIRE_FALSE(sent.has_value());
  CHECK(sent.error().code == Errc::unavailable);
}

TEST_CASE("another thread's interrupt ends a wait for an answer") {
  const WakeUp interrupt;
  Pair pair(&interrupt);
  std::thread other([&] { interrupt.raise(); });
  const auto answer = receive(*pair.ours, ample());
  other.join();
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::cancelled);
}

TEST_CASE("an answer that is there is worth more than an interrupt") {
  const WakeUp interrupt;
  Pair pair(&interrupt);
  write_all(pair.theirs, "pong");
  await_noise(*pair.ours);
  interrupt.raise();
  CHECK(receive(*pair.ours, ample()).has_value());
}

TEST_CASE("only a connection without pending bytes and without an end is idle") {
  Pair pair;
  CHECK(pair.ours->idle());
  SUBCASE("unexpected bytes") {
    write_all(pair.theirs, "x");
  }
  SUBCASE("the peer closed the connection") {
    pair.theirs.reset();
  }
  await_noise(*pair.ours);
  CHECK_FALSE(pair.ours->idle());
}

TEST_CASE("a unix socket works like a host") {
  const TempDir folder;
  const FakePeer peer(folder.path() + "/s");
  auto ours = Transport::connect(unix_socket(folder.path() + "/s"), ample(), nullptr);
  REQUIRE(ours.has_value());
  const UniqueFd theirs = peer.accept();
  REQUIRE(ours->send("ping", ample()).has_value());
  CHECK(read_until(theirs, "ping") == "ping");
}

TEST_CASE("a unix socket that does not exist, or whose server is gone, is reported") {
  const TempDir folder;
  const auto none = Transport::connect(unix_socket(folder.path() + "/none"), ample(), nullptr);
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code == Errc::not_listening);
  CHECK(none.error().text == "no such file or directory");
  { const FakePeer gone(folder.path() + "/s"); }
  const auto left = Transport::connect(unix_socket(folder.path() + "/s"), ample(), nullptr);
  REQUIRE_FALSE(left.has_value());
  CHECK(left.error().code == Errc::not_listening);
  CHECK(left.error().text == "connection refused");
}

TEST_CASE("a unix socket that dlock may not open is denied") {
  if (::geteuid() == 0) return;  // root may open everything
  const TempDir folder;
  const FakePeer peer(folder.path() + "/s");
  std::filesystem::permissions(folder.path() + "/s", std::filesystem::perms::none);
  const auto ours = Transport::connect(unix_socket(folder.path() + "/s"), ample(), nullptr);
  REQUIRE_FALSE(ours.has_value());
  CHECK(ours.error().code == Errc::denied);
}

TEST_CASE("a unix server with a full queue is waited for up to the limit, not beyond") {
  const TempDir folder;
  const FakePeer peer(folder.path() + "/s");
  ::listen(peer.fd(), 0);
  std::vector<Result<Transport>> many;
  do {
    many.push_back(Transport::connect(unix_socket(folder.path() + "/s"), soon(), nullptr));
  } while (many.back().has_value() && many.size() < 100);
  REQUIRE_FALSE(many.back().has_value());
  CHECK(many.back().error().code == Errc::timed_out);
  const UniqueFd room = peer.accept();
  CHECK(Transport::connect(unix_socket(folder.path() + "/s"), ample(), nullptr).has_value());
}

TEST_CASE("the sockets of a connection are not inherited by a child") {
  std::array<bool, 256> before{};
  for (int fd = 0; fd < 256; ++fd)
    before.at(std::size_t(fd)) = ::fcntl(fd, F_GETFD) >= 0;
  const Pair pair;
  int opened = 0;
  for (int fd = 0; fd < 256; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags < 0 || before.at(std::size_t(fd))) continue;
    CHECK((flags & FD_CLOEXEC) != 0);
    ++opened;
  }
  CHECK(opened == 3);
}

TEST_CASE("IPv6 works like IPv4 where the machine has it") {
  const FakePeer peer(AF_INET6);
  if (!peer.ok()) return;
  const Endpoint endpoint{.host = "::1", .port = peer.port(), .socket_path = {}};
  CHECK(Transport::connect(endpoint, ample(), nullptr).has_value());
}

TEST_CASE("a numeric address needs no lookup, whatever the limit") {
  const auto v4 = resolve("10.1.2.3", 80, Time{}, nullptr);
  REQUIRE(v4.has_value());
  REQUIRE(v4->size() == 1);
  CHECK(v4->front().family() == AF_INET);
  const auto v6 = resolve("2001:db8::1", 80, Time{}, nullptr);
  REQUIRE(v6.has_value());
  CHECK(v6->front().family() == AF_INET6);
}

TEST_CASE("a link-local address has its interface, and one that is not there is told") {
  const auto here = resolve("fe80::1%lo", 6379, Time{}, nullptr);
  REQUIRE(here.has_value());
  CHECK(numeric_text(here->front()) == "fe80::1%lo");
  const auto nowhere = resolve("fe80::1%no-such", 6379, Time{}, nullptr);
  REQUIRE_FALSE(nowhere.has_value());
  CHECK(nowhere.error().code == Errc::no_such_host);
  CHECK(nowhere.error().text ==
        "cannot find host \"fe80::1%no-such\": this machine has no network interface \"no-such\"");
}

TEST_CASE("localhost is found without a name server") {
  const FakePeer peer;
  const Endpoint endpoint{.host = "localhost", .port = peer.port(), .socket_path = {}};
  const auto transport = Transport::connect(endpoint, ample(), nullptr);
  CAPTURE((transport ? "" : transport.error().text));
  CHECK(transport.has_value());
}

TEST_CASE("a host name that does not exist is reported by name, within the limit") {
  const auto found = resolve("no-such-host.invalid", 80, BootClock::now() + 2s, nullptr);
  REQUIRE_FALSE(found.has_value());
  const Errc code = found.error().code;
  // Only a name server can say so: without one it is unavailable, or the limit comes first.
  const bool unknown = found.error().text.ends_with(": domain name not found");
  CHECK((code == Errc::no_such_host) == unknown);
  CHECK((unknown || code == Errc::unavailable || code == Errc::timed_out));
  CHECK(found.error().text.starts_with("cannot find host \"no-such-host.invalid\": "));
}

TEST_CASE("a lookup obeys an interrupt that was raised before it") {
  const WakeUp interrupt;
  interrupt.raise();
  const auto found = resolve("no-such-host.invalid", 80, ample(), &interrupt);
  REQUIRE_FALSE(found.has_value());
  const Errc code = found.error().code;
  CHECK((code == Errc::cancelled || code == Errc::no_such_host || code == Errc::unavailable));
}

}  // namespace
}  // namespace dlock
