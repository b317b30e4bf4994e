// SPDX-License-Identifier: MIT
#include "store/redis/redis_client.hpp"

#include "sys/wake_up.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/fake_redis.hpp"
#include "support/has.hpp"
#include "support/redis_process.hpp"

namespace dlock {
namespace {

using test::ample;
using test::client_of;
using test::FakePeer;
using test::FakeRedis;
using test::has;
using test::read_until;
using test::soon;
using test::write_all;

TEST_CASE("a question is sent as it is, and its answer comes back with the time of sending") {
  std::string got;
  FakeRedis server([&](const FakePeer& peer) {
    const UniqueFd connection = peer.accept();
    got = read_until(connection, "\r\nb\r\n");
    write_all(connection, "*3\r\n:7\r\n$-1\r\n$2\r\nhi\r\n");
  });
  RedisClient client = client_of(server.url());
  const Time before = BootClock::now();
  const auto answer = client.call({"GET", "a\r\n", "", "b"}, ample());
  server.join();
  REQUIRE(answer.has_value());
  CHECK(got == "*4\r\n$3\r\nGET\r\n$3\r\na\r\n\r\n$0\r\n\r\n$1\r\nb\r\n");
  CHECK(answer->sent_at >= before);
  CHECK(answer->sent_at <= BootClock::now());
  CHECK(answer->reply.size() == 3);
  CHECK(answer->reply[0].integer() == 7);
  CHECK(answer->reply[1].is_nil());
  CHECK(answer->reply[2].string() == "hi");
}

// The clock of a lease starts with the question, not with the answer (rule 1).
TEST_CASE("N08: the time of an answer is that of the send, however late the answer comes") {
  std::vector<Time> had;
  FakeRedis server([&](const FakePeer& peer) {
    const UniqueFd connection = peer.accept();
    for (const char* const answer : {"-NOSCRIPT\r\n", "+first\r\n", "+kept\r\n"}) {
      read_until(connection, "\r\narg\r\n");
      had.push_back(BootClock::now());
      write_all(connection, answer);
    }
  });
  RedisClient client = client_of(server.url());
  const Script script{"0123456789012345678901234567890123456789", "return 1"};
  const auto first = client.run(script, {"key"}, {"arg"}, ample());
  const auto kept = client.run(script, {"key"}, {"arg"}, ample());
  server.join();
  REQUIRE(had.size() == 3);
  REQUIRE(first.has_value());
  REQUIRE(kept.has_value());
  CHECK(first->sent_at <= had[1]);
  CHECK(first->sent_at >= had[0]);  // the repetition with the text counts, not the question before
  CHECK(kept->sent_at <= had[2]);
}

TEST_CASE("password, database and the first question travel in one go, later ones alone") {
  const std::string password(40, 'p');  // longer than what a string has room for in itself
  std::vector<std::string> got;
  FakeRedis server([&](const FakePeer& peer) {
    const UniqueFd connection = peer.accept();
    got.push_back(read_until(connection, "\r\nPING\r\n"));
    write_all(connection, "+OK\r\n+OK\r\n+PONG\r\n");
    got.push_back(read_until(connection, "\r\nPING\r\n"));
    write_all(connection, "+PONG\r\n");
  });
  RedisClient client = client_of(server.url("ann:" + password + "@", "/3"));
  CHECK(client.call({"PING"}, ample()).has_value());
  CHECK(client.call({"PING"}, ample()).has_value());
  server.join();
  REQUIRE(got.size() == 2);
  CHECK(got[0] == "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$40\r\n" + password +
                      "\r\n"
                      "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*1\r\n$4\r\nPING\r\n");
  CHECK(got[1] == "*1\r\n$4\r\nPING\r\n");
}

TEST_CASE("a refused connection is reported with the address") {
  const test::DeafPort deaf;
  RedisClient client = client_of("redis://ann:s3cret@127.0.0.1:" + std::to_string(deaf.port));
  const auto answer = client.call({"PING"}, ample());
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::not_listening);
  CHECK(answer.error().text == "cannot reach " + client.where() + ": connection refused");
}

TEST_CASE("a connection that ends within an answer is unavailable and dropped") {
  FakeRedis server([](const FakePeer& peer) {
    const UniqueFd connection = peer.accept();
    read_until(connection, "PING\r\n");
    write_all(connection, "$10\r\nhal");
  });
  RedisClient client = client_of(server.url());
  const auto answer = client.call({"PING"}, ample());
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::unavailable);
  CHECK(has(answer.error().text, "lost the connection to redis://127.0.0.1:"));
  CHECK_FALSE(client.connected());
}

TEST_CASE("an answer that comes after the limit never answers the next question") {
  FakeRedis server([](const FakePeer& peer) {
    const UniqueFd first = peer.accept();
    read_until(first, "\r\na\r\n");
    const UniqueFd second = peer.accept();
    write_all(first, "$4\r\nlate\r\n");
    read_until(second, "\r\nb\r\n");
    write_all(second, "$5\r\nright\r\n");
  });
  RedisClient client = client_of(server.url());
  // A little of it may be gone when the call begins; it is told in tenths of a second.
  const auto unknown =
      client.call({"GET", "a"}, BootClock::now() + std::chrono::milliseconds(1090));
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error().code == Errc::timed_out);
  CHECK(unknown.error().text == "no answer from " + client.where() + " within 1s");
  CHECK_FALSE(client.connected());
  const auto answer = client.call({"GET", "b"}, ample());
  REQUIRE(answer.has_value());
  CHECK(answer->reply.string() == "right");
}

TEST_CASE("an answer too many never answers the next question") {
  FakeRedis server([](const FakePeer& peer) {
    const UniqueFd first = peer.accept();
    read_until(first, "\r\na\r\n");
    write_all(first, "$5\r\nright\r\n$5\r\nwrong\r\n");
    const UniqueFd second = peer.accept();
    read_until(second, "\r\nb\r\n");
    write_all(second, "$4\r\nalso\r\n");
  });
  RedisClient client = client_of(server.url());
  const auto one = client.call({"GET", "a"}, ample());
  REQUIRE(one.has_value());
  CHECK(one->reply.string() == "right");
  const auto two = client.call({"GET", "b"}, ample());
  REQUIRE(two.has_value());
  CHECK(two->reply.string() == "also");
}

TEST_CASE("an interrupt ends a call as cancelled and drops the connection") {
  const WakeUp interrupt;
  FakeRedis server([&](const FakePeer& peer) {
    const UniqueFd connection = peer.accept();
    read_until(connection, "PING\r\n");
    interrupt.raise();
    read_until(connection, "");
  });
  RedisClient client = client_of(server.url(), &interrupt);
  const auto answer = client.call({"PING"}, ample());
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::cancelled);
  CHECK_FALSE(client.connected());
}

TEST_CASE("a connection that was closed while it was idle is replaced before the next question") {
  int accepted = 0;
  FakeRedis server([&](const FakePeer& peer) {
    for (; accepted < 2; ++accepted) {
      const UniqueFd connection = peer.accept();
      read_until(connection, "PING\r\n");
      write_all(connection, "+PONG\r\n");
    }
  });
  RedisClient client = client_of(server.url());
  CHECK(client.call({"PING"}, ample()).has_value());
  // The second connection is only made once the end of the first one has come here.
  Result<Answer> again = client.call({"PING"}, ample());
  CHECK((again.has_value() || again.error().code == Errc::unavailable));
  if (!again) again = client.call({"PING"}, ample());
  CHECK(again.has_value());
  server.join();
  CHECK(accepted == 2);
}

TEST_CASE("a script goes by its SHA1, and by its text only to a server that does not know it") {
  std::vector<std::string> got;
  FakeRedis server([&](const FakePeer& peer) {
    const UniqueFd connection = peer.accept();
    got.push_back(read_until(connection, "\r\narg\r\n"));
    write_all(connection, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    got.push_back(read_until(connection, "\r\narg\r\n"));
    write_all(connection, ":1\r\n");
    got.push_back(read_until(connection, "\r\narg\r\n"));
    write_all(connection, "-ERR no\r\n");
    read_until(connection, "");
  });
  RedisClient client = client_of(server.url());
  const Script script{"0123", "return 1"};
  const auto first = client.run(script, {"k1", "k2"}, {"arg"}, ample());
  REQUIRE(first.has_value());
  CHECK(first->reply.integer() == 1);
  const auto second = client.run(script, {"k1", "k2"}, {"arg"}, ample());
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == Errc::refused);
  client.disconnect();
  server.join();
  REQUIRE(got.size() == 3);
  CHECK(has(got[0], "EVALSHA\r\n$4\r\n0123\r\n$1\r\n2\r\n$2\r\nk1\r\n$2\r\nk2\r\n"));
  CHECK(has(got[1], "EVAL\r\n$8\r\nreturn 1\r\n$1\r\n2\r\n"));
  CHECK(has(got[2], "EVALSHA"));
}

TEST_CASE("many messages that have come together wake a waiter once") {
  FakeRedis server([](const FakePeer& peer) {
    const UniqueFd connection = peer.accept();
    read_until(connection, "\r\nc\r\n");
    const std::string message = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n";
    write_all(connection, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n" + message + message);
    read_until(connection, "");
  });
  RedisClient client = client_of(server.url());
  REQUIRE(client.subscribe("k", {"c"}, false, ample()).has_value());
  const auto woken = client.await_messages(ample());
  REQUIRE(woken.has_value());
  REQUIRE(woken->size() == 2);
  CHECK((*woken)[1][2].string() == "0");
  const auto nothing = client.await_messages(soon());
  REQUIRE(nothing.has_value());
  CHECK(nothing->empty());
  CHECK(client.connected());
  client.disconnect();
}

TEST_CASE("a subscription whose server goes away is an error, not a silence") {
  FakeRedis server([](const FakePeer& peer) {
    const UniqueFd connection = peer.accept();
    read_until(connection, "\r\nc\r\n");
    write_all(connection, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
  });
  RedisClient client = client_of(server.url());
  REQUIRE(client.subscribe("k", {"c"}, false, ample()).has_value());
  const auto woken = client.await_messages(ample());
  REQUIRE_FALSE(woken.has_value());
  CHECK(woken.error().code == Errc::unavailable);
  CHECK_FALSE(client.connected());
  CHECK_FALSE(client.await_messages(soon()).has_value());
}

TEST_CASE(
    "a new connection continues the tracking, or works without it if the subscription is gone") {
  std::vector<std::string> got;
  FakeRedis server([&](const FakePeer& peer) {
    for (const char* answer : {"+OK\r\n", "+OK\r\n+PONG\r\n", "-ERR no such client\r\n+PONG\r\n"}) {
      const UniqueFd connection = peer.accept();
      got.push_back(read_until(connection, got.empty() ? "NOLOOP\r\n" : "PING\r\n"));
      write_all(connection, answer);
      read_until(connection, "");
    }
    const UniqueFd connection = peer.accept();
    got.push_back(read_until(connection, "PING\r\n"));
    write_all(connection, "+PONG\r\n");
  });
  RedisClient client = client_of(server.url());
  REQUIRE(client.track({}, 4711, ample()).has_value());
  for (int i = 0; i < 3; ++i) {
    client.disconnect();
    const auto pong = client.call({"PING"}, ample());
    REQUIRE(pong.has_value());
    CHECK(pong->reply.string() == "PONG");
  }
  client.disconnect();
  server.join();
  REQUIRE(got.size() == 4);
  const std::string tracking =
      "TRACKING\r\n$2\r\nON\r\n$8\r\nREDIRECT\r\n$4\r\n4711\r\n$6\r\nNOLOOP";
  CHECK(has(got[0], tracking));
  CHECK(has(got[1], tracking));
  CHECK(has(got[2], tracking));
  CHECK_FALSE(has(got[3], "TRACKING"));
}

TEST_CASE("a real Redis answers commands, scripts and subscriptions over a unix socket") {
  auto server = test::RedisProcess::start();
  CAPTURE((server ? "" : server.error().text));
  REQUIRE(server.has_value());
  RedisClient client = client_of((*server)->url() + "?db=2");
  const auto set = client.call({"SET", "k", "v"}, ample());
  REQUIRE(set.has_value());
  CHECK(set->reply.string() == "OK");

  const Script script{"4e6d8fc8bb01276962cce5371fa795a7763657ae",
                      "return redis.call('get', KEYS[1])"};
  for (int i = 0; i < 2; ++i) {
    const auto got = client.run(script, {"k"}, {}, ample());
    REQUIRE(got.has_value());
    CHECK(got->reply.string() == "v");
  }

  RedisClient listener = client_of((*server)->url());
  REQUIRE(listener.subscribe("k", {"c"}, false, ample()).has_value());
  REQUIRE(client.call({"PUBLISH", "c", "0"}, ample()).has_value());
  const auto woken = listener.await_messages(ample());
  REQUIRE(woken.has_value());
  REQUIRE(woken->size() == 1);
  CHECK(woken->front()[2].string() == "0");

  RedisClient wrong = client_of((*server)->url() + "?db=99");
  const auto refused = wrong.call({"PING"}, ample());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Errc::refused);

  RedisClient denied = client_of("redis+unix://ann:wrong@" + (*server)->socket());
  const auto answer = denied.call({"PING"}, ample());
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::denied);
}

}  // namespace
}  // namespace dlock
