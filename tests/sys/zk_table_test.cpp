// SPDX-License-Identifier: MIT
// A lock that changes while it is read. The server is simulated: it lists a node and then reports
// that the node does not exist, as if the lock had been released in between.
#include "store/open_store.hpp"

#include <doctest/doctest.h>

#include <poll.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "support/fake_peer.hpp"
#include "support/has.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;

std::string number(std::int32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes += static_cast<char>(static_cast<std::uint32_t>(value) >> shift);
  return bytes;
}

std::string text(std::string_view value) {
  return number(static_cast<std::int32_t>(value.size())).append(value);
}

// Answers each request in `frames`, which are complete requests.
class ChangingLock {
 public:
  // The node exists until this many lists have named it.
  explicit ChangingLock(int lists) : lists_(lists) {}

  int lists_left() const { return lists_; }

  std::string answers_to(std::string_view frames) {
    std::string all;
    while (!frames.empty()) {
      const std::size_t size = 4U + static_cast<unsigned char>(frames[3]);
      all += answer_to(frames.substr(4, size - 4));
      frames.remove_prefix(size);
    }
    return all;
  }

 private:
  std::string answer_to(std::string_view request) {
    constexpr char k_get_children = 12;  // with the folder's stat
    constexpr std::size_t k_stat_bytes = 68;
    constexpr std::int32_t k_no_node = -101;
    if (request.starts_with(number(0)))  // a new session of 30 seconds, number 5
      return text(number(0) + number(30'000) + number(0) + number(5) + text("0123456789abcdef") +
                  '\0');
    std::string verdict(request.substr(0, 4));  // the request's number
    verdict += number(0) + number(7);           // the zxid
    if (request[7] != k_get_children) return text(verdict + number(k_no_node));
    verdict += number(0);
    verdict += lists_-- > 0 ? number(1) + text("lock-0000000001") : number(0);
    return text(verdict + std::string(k_stat_bytes, '\0'));
  }

  std::atomic<int> lists_;
};

// A server with one lock, which serves one connection after the other.
class ChangingServer {
 public:
  explicit ChangingServer(int lists) : lock_(lists), thread_([this] { serve(); }) {}
  ~ChangingServer() {
    over_ = true;
    thread_.join();
  }
  ChangingServer(const ChangingServer&) = delete;
  ChangingServer& operator=(const ChangingServer&) = delete;

  std::unique_ptr<LockStore> open() const {
    auto store = open_store({.url = "zookeeper://127.0.0.1:" + std::to_string(peer_.port()),
                             .prefix = {},
                             .password = {},
                             .interrupt = nullptr});
    REQUIRE(store.has_value());
    return std::move(*store);
  }
  const ChangingLock& lock() const { return lock_; }

 private:
  void serve() {
    while (!over_) {
      pollfd waiting{peer_.fd(), POLLIN, 0};
      if (::poll(&waiting, 1, 10) == 1) serve(peer_.accept());
    }
  }
  void serve(const UniqueFd& client) {
    std::array<char, 4096> bytes{};
    while (!over_) {
      pollfd waiting{client.get(), POLLIN, 0};
      if (::poll(&waiting, 1, 10) != 1) continue;
      const auto n = ::recv(client.get(), bytes.data(), bytes.size(), 0);
      if (n <= 0) return;
      test::write_all(client, lock_.answers_to({bytes.data(), static_cast<std::size_t>(n)}));
    }
  }

  test::FakePeer peer_;
  ChangingLock lock_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

LockName some_name() {
  auto name = LockName::parse("backup");
  REQUIRE(name.has_value());
  return std::move(*name);
}

TEST_CASE("zk: a lock that changes while it is read is read again") {
  const ChangingServer server(100);
  const auto holding = server.open()->inspect(some_name(), test::ample());
  CAPTURE((holding ? "" : holding.error().text));
  REQUIRE(holding.has_value());
  CHECK(holding->holds.empty());
  CHECK(server.lock().lists_left() == -1);
}

TEST_CASE("zk: a claim on a lock that is never at rest ends at its limit, and says so") {
  const ChangingServer server(1'000'000'000);
  const auto store = server.open();
  const Claim claim{.names = {some_name()}, .owner = make_owner_id(1), .ttl = 30s};
  const Time limit = BootClock::now() + 200ms;
  const auto reply = store->acquire(claim, Queueing::no, limit);
  CHECK(BootClock::now() >= limit);
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().code == Errc::timed_out);
  CAPTURE(reply.error().text);
  CHECK(reply.error().text.starts_with("locks at " + store->where() + " changed "));
  CHECK(test::has(reply.error().text, " times while they were read or written; "));
}

}  // namespace
}  // namespace dlock
