// SPDX-License-Identifier: MIT
// The etcd store in front of a server that does what no etcd does.
#include "store/open_store.hpp"

#include <doctest/doctest.h>

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "support/fake_peer.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using test::ample;
using test::FakePeer;
using test::read_until;
using test::write_all;

// Answers one request.
void answer(const UniqueFd& client, const std::string& end_of_request, const std::string& body) {
  read_until(client, end_of_request);
  const std::string size = std::to_string(body.size());
  write_all(client, "HTTP/1.1 200 OK\r\nContent-Length: " + size + "\r\n\r\n" + body);
}

TEST_CASE("etcd: a waiter hears that its watch was refused when it watches again") {
  FakePeer peer;
  std::thread server([&] {
    const UniqueFd reader = peer.accept();
    answer(reader,
           "]}",
           R"({"header":{"revision":"5"},"succeeded":true,)"
           R"("responses":[{"response_range":{}},{"response_range":{}}]})");
    const UniqueFd watcher = peer.accept();
    answer(watcher, "}}", R"({"error":{"grpc_code":7,"message":"etcdserver: permission denied"}})");
    read_until(watcher, "");
  });
  {
    auto store = open_store({.url = "etcd://127.0.0.1:" + std::to_string(peer.port())});
    REQUIRE(store.has_value());
    const Claim claim{.names = {*LockName::parse("n")}, .owner = make_owner_id(1), .ttl = 30s};
    CHECK((*store)->watch(claim, true, ample()).has_value());
    const auto hand_off = (*store)->await_hand_off(ample());
    REQUIRE_FALSE(hand_off.has_value());
    CHECK(hand_off.error().code == Errc::denied);
    const auto again = (*store)->watch(claim, true, ample());
    REQUIRE_FALSE(again.has_value());
    CHECK(again.error().code == Errc::denied);  // from now on it polls
  }
  server.join();
}

// A server with one lock. Its leader changes when a test says so.
class OneLock {
 public:
  std::string url() const { return "etcd://127.0.0.1:" + std::to_string(peer_.port()); }
  std::atomic<int> term = 5;
  std::atomic<bool> changes_at_write = false;  // the next transaction that writes sees an election
  std::atomic<bool> is_full = false;           // no leases are granted, and nothing is written
  std::atomic<bool> hangs_up = false;          // when it is asked for a lease
  std::atomic<int> grants = 0;
  std::atomic<int> keep_alives = 0;

  ~OneLock() {
    ::shutdown(peer_.fd(), SHUT_RDWR);  // ends accept()
    server_.join();
  }

 private:
  std::string header() const {
    return R"({"header":{"revision":"5","raft_term":")" + std::to_string(term) + R"("})";
  }
  static std::string between(const std::string& text, const std::string& from, char end) {
    const auto at = text.find(from) + from.size();
    return text.substr(at, text.find(end, at) - at);
  }

  std::string answer_to(const std::string& request) {
    const std::string full = R"({"code":8,"message":"etcdserver: mvcc: database space exceeded"})";
    const std::string id = R"(,"ID":")" + between(request, R"("ID":")", '"') + R"(","TTL":"30"})";
    if (request.starts_with("POST /v3/lease/grant")) {
      ++grants;
      return is_full ? full : header() + id;
    }
    if (request.starts_with("POST /v3/lease/keepalive")) {
      ++keep_alives;
      return R"({"result":)" + header() + id + "}";
    }
    if (!request.starts_with("POST /v3/kv/txn")) return header() + "}";
    const auto put = request.find("request_put");
    if (put == std::string::npos) return answer_to_read(request);
    if (is_full) return full;
    if (changes_at_write.exchange(false)) ++term;
    key_ = between(request, R"("request_put":{)", '}');
    return written(request);
  }
  std::string written(const std::string& request) const {
    std::string parts = R"({"response_put":{}})";
    const auto branch = request.substr(0, request.find(R"("failure")"));
    for (auto at = branch.find("request_put"); at != std::string::npos;) {
      at = branch.find("request_put", at + 1);
      if (at != std::string::npos) parts += R"(,{"response_put":{}})";
    }
    return header() + R"(,"succeeded":true,"responses":[)" + parts + "]}";
  }
  std::string answer_to_read(const std::string& request) const {
    std::string parts;
    bool first = request.find(R"("sort_order")") != std::string::npos;
    for (auto at = request.find("request_range"); at != std::string::npos;
         at = request.find("request_range", at + 1)) {
      if (!parts.empty()) parts += ',';
      const bool has_key = std::exchange(first, false) && !key_.empty();
      parts += has_key ? R"({"response_range":{"count":"1","kvs":[{"create_revision":"5",)"
                         R"("mod_revision":"5",)" +
                             key_ + "}]}}"
                       : R"({"response_range":{}})";
    }
    return header() + R"(,"succeeded":true,"responses":[)" + parts + "]}";
  }

  void serve(const UniqueFd& client) {
    std::string come;
    for (;;) {
      const auto head = come.find("\r\n\r\n");
      const auto size =
          head == std::string::npos ? 0 : std::stoul(between(come, "Content-Length: ", '\r'));
      if (head == std::string::npos || come.size() < head + 4 + size) {
        std::array<char, 8192> buffer{};
        const auto n = ::recv(client.get(), buffer.data(), buffer.size(), 0);
        if (n <= 0) return;
        come.append(buffer.data(), static_cast<std::size_t>(n));
        continue;
      }
      if (hangs_up && come.starts_with("POST /v3/lease/grant")) return;
      const std::string body = answer_to(come.substr(0, head + 4 + size));
      come.erase(0, head + 4 + size);
      write_all(
          client,
          "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    }
  }

  FakePeer peer_;
  std::string key_;  // the fields of the newest put
  std::thread server_{[this] {
    for (bool more = true; more;) {
      const UniqueFd client = peer_.accept();
      more = bool(client);
      if (more) serve(client);
    }
  }};
};

TEST_CASE("etcd: after an election a renewal moves the hold to a new lease, once") {
  OneLock server;
  auto store = open_store({.url = server.url()});
  REQUIRE(store.has_value());
  const Claim claim{.names = {*LockName::parse("n")},
                    .owner = make_owner_id(1),
                    .serial = make_hold_serial(),
                    .ttl = 30s};
  const auto reply = (*store)->acquire(claim, Queueing::no, ample());
  REQUIRE(reply.has_value());
  REQUIRE(std::holds_alternative<Grant>(*reply));
  const Holds holds = std::get<Grant>(*reply).holds;
  // Renews, and returns how many leases that made.
  const auto leases_of_renewal = [&] {
    const int before = server.grants;
    const auto renewed = (*store)->renew(holds, ample());
    CAPTURE(renewed ? std::string() : renewed.error().text);
    REQUIRE(renewed.has_value());
    CHECK(renewed->verdict == RenewVerdict::renewed);
    return server.grants - before;
  };
  CHECK(leases_of_renewal() == 0);
  ++server.term;
  CHECK(leases_of_renewal() == 1);
  CHECK(leases_of_renewal() == 0);

  SUBCASE("the leader changes between the look and the write") {
    ++server.term;
    server.changes_at_write = true;
    CHECK(leases_of_renewal() == 2);
    CHECK(leases_of_renewal() == 0);
  }
  SUBCASE("a server that is full grants no lease, and the hold keeps its own") {
    ++server.term;
    server.is_full = true;
    CHECK(leases_of_renewal() == 1);
    server.is_full = false;
    CHECK(leases_of_renewal() == 1);
  }
  SUBCASE("a move of which nothing is known is not taken for a refused one") {
    ++server.term;
    server.hangs_up = true;
    const int before = server.keep_alives;
    CHECK_FALSE((*store)->renew(holds, ample()).has_value());
    CHECK(server.keep_alives == before);
  }
  SUBCASE("a claim of another process that joins the hold moves it") {
    store->reset();
    auto other = open_store({.url = server.url()});
    REQUIRE(other.has_value());
    Claim nested = claim;
    nested.owner = make_owner_id(2);
    nested.serial = make_hold_serial();
    const Hold& hold = holds.front();
    nested.ancestors = {{(*other)->where(), hold.name.text(), hold.owner, hold.serial}};
    const int before = server.grants;
    const auto joined = (*other)->acquire(nested, Queueing::no, ample());
    REQUIRE(joined.has_value());
    REQUIRE(std::holds_alternative<Grant>(*joined));
    CHECK(std::get<Grant>(*joined).holds.front().nested);
    CHECK(server.grants == before + 1);
  }
  store->reset();
}

}  // namespace
}  // namespace dlock
