// SPDX-License-Identifier: MIT
#include "store/redis/route.hpp"

#include "store/redis/redis_client.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/fake_redis.hpp"

namespace dlock {
namespace {

using test::ample;
using test::answering;
using test::DeafPort;
using test::FakeRedis;

// Names the first server until that fails, then the second.
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

const Script k_any_script{"0123456789012345678901234567890123456789", "return 1"};

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

}  // namespace
}  // namespace dlock
