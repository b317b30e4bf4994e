// SPDX-License-Identifier: MIT
// FakeRedis: a server whose answers a test chooses, valid or not, for tests of how the client
// reacts.
#pragma once

#include "store/redis/redis_client.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "support/fake_peer.hpp"

namespace dlock::test {

// A server that runs the code of a test in its own thread until the test is over.
class FakeRedis {
 public:
  explicit FakeRedis(std::function<void(const FakePeer&)> act)
      : thread_([this, act = std::move(act)] { act(peer_); }) {}
  FakeRedis(const FakeRedis&) = delete;
  FakeRedis& operator=(const FakeRedis&) = delete;
  ~FakeRedis() { join(); }

  void join() {
    if (thread_.joinable()) thread_.join();
  }
  std::string url(const std::string& user = "", const std::string& path = "") const {
    return "redis://" + user + "127.0.0.1:" + std::to_string(peer_.port()) + path;
  }

 private:
  FakePeer peer_;
  std::thread thread_;
};

// Returns the code for one connection: it waits for the last word of a request, sends `answer`, and
// closes the connection after the client has closed it.
inline std::function<void(const FakePeer&)> answering(const std::string& last_word,
                                                      const std::string& answer) {
  return [=](const FakePeer& peer) {
    const UniqueFd client = peer.accept();
    read_until(client, last_word);
    write_all(client, answer);
    read_until(client, "");
  };
}

inline RedisClient client_of(const std::string& url, const Interrupt* interrupt = nullptr) {
  auto address = parse_redis_url(url);
  REQUIRE(address.has_value());
  return {std::move(*address), interrupt};
}

}  // namespace dlock::test
