// SPDX-License-Identifier: MIT
// The etcd store in front of a server that does what no etcd does.
#include "store/open_store.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

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

}  // namespace
}  // namespace dlock
