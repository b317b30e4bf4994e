// SPDX-License-Identifier: MIT
#include "store/redis/route.hpp"

#include "store/redis/cluster_route.hpp"
#include "store/redis/redis_client.hpp"
#include "store/redis/sentinel_route.hpp"
#include "store/redis/slot.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/fake_redis.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using test::ample;
using test::answering;
using test::DeafPort;
using test::FakePeer;
using test::FakeRedis;
using test::read_until;
using test::write_all;

// Returns the first server until it fails, then the second.
class TwoServers final : public Route {
 public:
  TwoServers(const std::string& first, const std::string& second)
      : now_(*parse_redis_url(first)), next_(*parse_redis_url(second)) {}

  Result<RedisAddress> address_of(std::string_view key, Time) override {
    keys.emplace_back(key);
    return now_;
  }
  void failed(const RedisAddress& server, const Error& error, std::string_view reply) override {
    CHECK(server.text == now_.text);
    errors.emplace_back(error.code, reply);
    now_ = next_;
  }

  std::vector<std::string> keys;
  std::vector<std::pair<Errc, std::string>> errors;

 private:
  RedisAddress now_;
  RedisAddress next_;
};

using Errors = std::vector<std::pair<Errc, std::string>>;

const Script k_any_script{{"0123456789012345678901234567890123456789", "return 1"}, {}};

RedisClient client_by(const std::shared_ptr<TwoServers>& route) {
  return {route, *parse_redis_url("redis://unasked"), nullptr};
}

TEST_CASE("route: a failed connection is reported, and the next request goes to the next address") {
  const DeafPort nobody;
  FakeRedis second(answering("arg", "+there\r\n"));
  const auto route = std::make_shared<TwoServers>(
      "redis://127.0.0.1:" + std::to_string(nobody.port), second.url());
  RedisClient client = client_by(route);
  CHECK_FALSE(client.run(k_any_script, {"k"}, {"arg"}, ample()).has_value());
  CHECK(route->errors == Errors{{Errc::not_listening, ""}});
  const auto answer = client.run(k_any_script, {"k"}, {"arg"}, ample());
  REQUIRE(answer.has_value());
  CHECK(answer->reply.string() == "there");
  CHECK(route->keys == std::vector<std::string>{"k", "k"});
  CHECK(client.where() == second.url() + "/0");
}

TEST_CASE(
    "route: an error reply is reported in the server's words, a lost connection without any") {
  FakeRedis first(answering("arg", "-MOVED 3999 10.0.0.1:6381\r\n"));
  const auto route = std::make_shared<TwoServers>(first.url(), first.url());
  RedisClient client = client_by(route);
  CHECK_FALSE(client.run(k_any_script, {"k"}, {"arg"}, ample()).has_value());
  CHECK(route->errors == Errors{{Errc::refused, "MOVED 3999 10.0.0.1:6381"}});
}

TEST_CASE("route: key tracking begins at the server of the key, where its listener is") {
  FakeRedis server(answering("NOLOOP\r\n", "+OK\r\n"));
  const auto route = std::make_shared<TwoServers>(server.url(), server.url());
  RedisClient client = client_by(route);
  CHECK(client.track("k", 4711, ample()).has_value());
  CHECK(route->keys == std::vector<std::string>{"k"});
}

// Returns a client of a cluster of these two servers.
RedisClient client_of_cluster(const FakeRedis& first, const FakeRedis& second) {
  const std::vector<RedisAddress> seeds{*parse_redis_url(first.url()),
                                        *parse_redis_url(second.url())};
  return {std::make_shared<ClusterRoute>(seeds), seeds.front(), nullptr};
}

std::string moved_to(const FakeRedis& server) {
  const std::string url = server.url();
  return "-MOVED " + std::to_string(slot_of("k")) + " :" + url.substr(url.rfind(':') + 1) + "\r\n";
}

TEST_CASE("route: a question that is sent on counts from when the owner of the slot was asked") {
  constexpr auto k_pause = std::chrono::milliseconds(200);
  FakeRedis owner(answering("arg", "+there\r\n"));
  FakeRedis first([&](const FakePeer& peer) {
    const UniqueFd connection = peer.accept();
    read_until(connection, "arg");
    std::this_thread::sleep_for(k_pause);
    write_all(connection, moved_to(owner));
    read_until(connection, "");
  });
  RedisClient client = client_of_cluster(first, owner);
  const Time before = BootClock::now();
  const auto answer = client.run(k_any_script, {"k"}, {"arg"}, ample());
  REQUIRE(answer.has_value());
  CHECK(answer->reply.string() == "there");
  CHECK(answer->sent_at - before >= k_pause);
}

TEST_CASE("route: nodes that send a question round in a circle are unavailable after six of them") {
  int asked = 0;
  FakeRedis node([&](const FakePeer& peer) {
    for (; asked < 6; ++asked) {
      const UniqueFd connection = peer.accept();
      read_until(connection, "arg");
      write_all(
          connection,
          "-MOVED " + std::to_string(slot_of("k")) + " :" + std::to_string(peer.port()) + "\r\n");
      read_until(connection, "");
    }
  });
  RedisClient client = client_of_cluster(node, node);
  const auto answer = client.run(k_any_script, {"k"}, {"arg"}, ample());
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::unavailable);
  node.join();
  CHECK(asked == 6);
}

TEST_CASE("N18: route: a node that says nothing leaves most of the time for the next one") {
  const FakePeer silent;
  FakeRedis other(answering("arg", "+there\r\n"));
  const std::vector<RedisAddress> seeds{
      *parse_redis_url("redis://127.0.0.1:" + std::to_string(silent.port())),
      *parse_redis_url(other.url())};
  RedisClient client(std::make_shared<ClusterRoute>(seeds), seeds.front(), nullptr);
  const Time limit = BootClock::now() + 2s;
  CHECK(client.run(k_any_script, {"k"}, {"arg"}, limit).error().code == Errc::timed_out);
  CHECK(limit - BootClock::now() > 1s);
  CHECK(client.run(k_any_script, {"k"}, {"arg"}, limit).has_value());
}

// Returns the code of a sentinel for the master 10.0.0.1:7000 of "m". It sends each subscriber the
// message that `name` has a new master.
std::function<void(const FakePeer&)> sentinel_that_tells(const std::string& name) {
  return [=](const FakePeer& peer) {
    const UniqueFd asking = peer.accept();
    read_until(asking, "get-master-addr-by-name");
    write_all(asking, "*2\r\n$8\r\n10.0.0.1\r\n$4\r\n7000\r\n");
    read_until(asking, "master\r\n");
    write_all(asking, "*2\r\n$12\r\nconfig-epoch\r\n$1\r\n3\r\n");
    const UniqueFd listening = peer.accept();
    read_until(listening, "+switch-master");
    const std::string told = name + " 10.0.0.1 7000 10.0.0.2 7000";
    write_all(listening,
              "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n"
              "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$" +
                  std::to_string(told.size()) + "\r\n" + told + "\r\n");
    read_until(listening, "");
  };
}

TEST_CASE("N18: sentinel: with the first one silent the second names the master, and its switch") {
  const FakePeer silent;
  for (const std::string name : {"m", "another"}) {
    CAPTURE(name);
    FakeRedis second(sentinel_that_tells(name));
    const std::string hosts = "127.0.0.1:" + std::to_string(silent.port()) + "," +
                              second.url().substr(std::string("redis://").size());
    {
      SentinelRoute route(*parse_sentinel_url("redis+sentinel://" + hosts + "/m"));
      const auto master = route.address_of("k", ample());
      REQUIRE(master.has_value());
      CHECK(master->endpoint.host == "10.0.0.1");
      route.watch(ample());
      REQUIRE(route.subscriber() != nullptr);
      const auto heard = [&] {
        const Time limit = ample();
        while (route.subscriber()->idle() && BootClock::now() < limit)
          std::this_thread::sleep_for(1ms);
        return route.has_switched();
      };
      CHECK(heard() == (name == "m"));
    }
    second.join();
  }
}

}  // namespace
}  // namespace dlock
