// SPDX-License-Identifier: MIT
// ZooKeeper and a claim of one of several names: a request that got no answer is carried out late,
// between the reads and the writes of the next try. The claim must not get a second name by that.
#include "store/open_store.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "support/fake_peer.hpp"
#include "support/zookeeper_process.hpp"

namespace dlock::late {
namespace {

using namespace std::chrono_literals;

using test::ample;
using test::ZookeeperProcess;

UniqueFd connect_to(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return fd;
}

// One direction of a connection, cut into frames. Each frame begins with its size.
class Stream {
 public:
  // Receives bytes. Returns false at the end of the stream.
  bool receive(const UniqueFd& from) {
    std::array<char, 4096> bytes{};
    const auto n = ::recv(from.get(), bytes.data(), bytes.size(), 0);
    if (n > 0) bytes_.append(bytes.data(), static_cast<std::size_t>(n));
    return n > 0;
  }
  // Returns the next complete frame; empty: no frame is complete.
  std::string next() {
    constexpr std::size_t k_size = 4;
    if (bytes_.size() < k_size) return {};
    std::size_t end = 0;
    for (std::size_t i = 0; i < k_size; ++i)
      end = end << 8U | static_cast<unsigned char>(bytes_[i]);
    end += k_size;
    if (bytes_.size() < end) return {};
    std::string frame = bytes_.substr(0, end);
    bytes_.erase(0, end);
    return frame;
  }

 private:
  std::string bytes_;
};

// The way to a server. It keeps back the first transaction (multi), and closes that connection to
// the client. The transaction goes on just before the client's next one: over the connection that
// its session has then or, if that is another session, over its own connection to the server.
class LateWay {
 public:
  explicit LateWay(std::uint16_t server) : server_(server), thread_([this] { serve(); }) {}
  ~LateWay() {
    over_ = true;
    thread_.join();
  }
  LateWay(const LateWay&) = delete;
  LateWay& operator=(const LateWay&) = delete;

  std::string url() const { return "zookeeper://127.0.0.1:" + std::to_string(peer_.port()); }
  bool has_sent_late() const { return late_; }

 private:
  static constexpr std::string_view k_late = "late";  // takes the place of the request's number
  struct Pair {
    UniqueFd client;
    UniqueFd server;
    Stream said = {};
    Stream heard = {};
    bool connected = false;    // the client has asked for a session
    std::string session = {};  // its number, once the server has answered
  };

  void serve() {
    std::list<Pair> pairs;
    while (!over_) {
      pollfd waiting{peer_.fd(), POLLIN, 0};
      if (::poll(&waiting, 1, 2) == 1) pairs.push_back({peer_.accept(), connect_to(server_)});
      pairs.remove_if([&](Pair& pair) { return !pass(pair); });
    }
  }

  // Returns false once the connection is over.
  bool pass(Pair& pair) {
    std::array<pollfd, 2> both{{{pair.client.get(), POLLIN, 0}, {pair.server.get(), POLLIN, 0}}};
    if (::poll(both.data(), both.size(), 0) < 1) return true;
    if (both[1].revents != 0 && !hear(pair)) return false;
    if (both[0].revents == 0) return true;
    if (!pair.said.receive(pair.client)) return false;
    for (std::string frame = pair.said.next(); !frame.empty(); frame = pair.said.next()) {
      if (std::exchange(pair.connected, true) && is_multi(frame) && !late_) {
        if (kept_.empty()) {
          kept_ = frame;
          kept_session_ = pair.session;
          kept_way_ = std::move(pair.server);
          return false;
        }
        send_late(pair);
      }
      test::write_all(pair.server, frame);
    }
    return true;
  }

  static bool is_multi(const std::string& frame) {
    return frame.substr(8, 4) == std::string_view("\0\0\0\x0e", 4);
  }

  // Passes the server's answers on. Returns false at the end of the stream.
  static bool hear(Pair& pair) {
    if (!pair.heard.receive(pair.server)) return false;
    for (std::string frame = pair.heard.next(); !frame.empty(); frame = pair.heard.next()) {
      if (pair.session.empty()) pair.session = frame.substr(12, 8);
      if (frame.substr(4, 4) != k_late) test::write_all(pair.client, frame);
    }
    return true;
  }

  // Returns once the server has answered, or has closed the connection.
  void send_late(Pair& pair) {
    late_ = true;
    const bool moved = pair.session == kept_session_;
    const UniqueFd& way = moved ? pair.server : kept_way_;
    kept_.replace(4, k_late.size(), k_late);
    test::write_all(way, kept_);
    Stream answers;
    while (test::readable(way.get()) && answers.receive(way)) {
      for (std::string frame = answers.next(); !frame.empty(); frame = answers.next()) {
        if (frame.substr(4, 4) == k_late) return;
        if (moved) test::write_all(pair.client, frame);
      }
    }
  }

  std::uint16_t server_;
  test::FakePeer peer_;
  std::string kept_;
  std::string kept_session_;
  UniqueFd kept_way_;
  std::atomic<bool> late_{false};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

std::unique_ptr<LockStore> store_at(const std::string& url) {
  auto store = open_store({.url = url, .prefix = {}, .password = {}, .interrupt = nullptr});
  REQUIRE(store.has_value());
  return std::move(*store);
}

LockName name_of(const std::string& text) {
  auto name = LockName::parse(text);
  REQUIRE(name.has_value());
  return std::move(*name);
}

Claim claim_of(std::vector<LockName> names) {
  return {.names = std::move(names),
          .owner = make_owner_id(1),
          .serial = make_hold_serial(),
          .ttl = 20s};
}

Hold take(LockStore& store, const Claim& claim) {
  const auto reply = store.acquire(claim, Queueing::no, ample());
  CAPTURE((reply ? "" : reply.error().text));
  REQUIRE(reply.has_value());
  REQUIRE(std::holds_alternative<Grant>(*reply));
  return std::get<Grant>(*reply).holds.at(0);
}

void release(LockStore& store, const Hold& hold) {
  const auto verdict = store.release({hold}, {}, ample());
  REQUIRE(verdict.has_value());
  CHECK(*verdict == ReleaseVerdict::released);
}

// Returns the names as locks that have a folder already, so that a late request finds it.
std::vector<LockName> locks_of(LockStore& store, const std::vector<std::string>& names) {
  std::vector<LockName> locks;
  for (const std::string& name : names) {
    locks.push_back(name_of(name));
    release(store, take(store, claim_of({locks.back()})));
  }
  return locks;
}

bool is_free(LockStore& store, const LockName& name) {
  const auto holding = store.inspect(name, ample());
  REQUIRE(holding.has_value());
  return holding->holds.empty() && holding->waiting == 0;
}

ZookeeperProcess& server() {
  static const auto shared = ZookeeperProcess::create("maxSessionTimeout=40000");
  CAPTURE((shared ? "" : shared.error().text));
  REQUIRE(shared.has_value());
  return **shared;
}

TEST_CASE("zk: a claim of one of several names gets no second name by a request that comes late") {
  const LateWay way(server().port());
  const auto direct = store_at(server().url());
  const auto store = store_at(way.url());
  const std::vector<LockName> locks = locks_of(*direct, {"late-a", "late-b"});
  const LockName& a = locks[0];
  const Hold other = take(*direct, claim_of({a}));
  Claim claim = claim_of(locks);
  claim.one_from = 0;
  // It would get b. Its answer is lost, and meanwhile a is free, which it prefers.
  CHECK_FALSE(store->acquire(claim, Queueing::no, ample()).has_value());
  release(*direct, other);
  const Hold hold = take(*store, claim);
  CHECK(hold.name == a);
  CHECK(way.has_sent_late());
  CHECK(is_free(*direct, locks[1]));
  release(*store, hold);
  CHECK(is_free(*direct, a));
}

TEST_CASE("zk: nor does such a claim below a run, whose request is the first of its session") {
  const LateWay way(server().port());
  const auto direct = store_at(server().url());
  const auto store = store_at(way.url());
  const std::vector<LockName> locks = locks_of(*direct, {"below-a", "below-b", "below-c"});
  const LockName& a = locks[0];
  const LockName& b = locks[1];
  Claim reads = claim_of({a});
  reads.mode = Mode::shared;
  const Hold above = take(*direct, reads);
  const Hold other = take(*direct, claim_of({b}));
  Claim claim = claim_of(locks);
  claim.one_from = 1;
  claim.ancestors = {{"", a.text(), above.owner, above.serial}};
  CHECK_FALSE(store->acquire(claim, Queueing::no, ample()).has_value());
  release(*direct, other);
  const Hold hold = take(*store, claim);
  CHECK(hold.name == b);
  CHECK(way.has_sent_late());
  CHECK(is_free(*direct, locks[2]));
  release(*store, hold);
  release(*direct, above);
}

TEST_CASE("zk: undoing such a claim takes back a request that comes late") {
  const LateWay way(server().port());
  const auto direct = store_at(server().url());
  const auto store = store_at(way.url());
  const std::vector<LockName> locks = locks_of(*direct, {"undone-a", "undone-b"});
  Claim claim = claim_of(locks);
  claim.one_from = 0;
  CHECK_FALSE(store->acquire(claim, Queueing::no, ample()).has_value());
  REQUIRE(store->leave(claim, Queueing::no, ample()).has_value());
  CHECK(way.has_sent_late());
  CHECK(is_free(*direct, locks[0]));
}

}  // namespace
}  // namespace dlock::late
