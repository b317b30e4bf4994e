// SPDX-License-Identifier: MIT
// How the client reacts to error answers, and to bytes that are no answer.

#include "store/redis/error_reply.hpp"
#include "store/redis/redis_client.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/fake_redis.hpp"
#include "support/has.hpp"

namespace dlock {
namespace {

using test::ample;
using test::answering;
using test::client_of;
using test::FakePeer;
using test::FakeRedis;
using test::has;
using test::read_until;
using test::write_all;

// Returns the error of one PING that the server answers with these bytes.
Error error_for(const std::string& answer) {
  FakeRedis server(answering("PING", answer));
  RedisClient client = client_of(server.url());
  auto result = client.call({"PING"}, ample());
  client.disconnect();
  CAPTURE(answer);
  REQUIRE_FALSE(result.has_value());
  return result.error();
}

TEST_CASE("a missing element of a reply behaves like nil") {
  const Reply none;
  CHECK(none.is_nil());
  CHECK(none[3][4].is_nil());
  CHECK(none.integer() == 0);
  CHECK(none.string().empty());
  CHECK(none.size() == 0);  // NOLINT(readability-container-size-empty): size() is the promise
}

TEST_CASE("arrays within arrays are read up to a depth, and no tree of more is ever built") {
  const auto nested = [](std::size_t depth) {
    std::string bytes;
    for (std::size_t i = 0; i < depth; ++i)
      bytes += "*1\r\n";
    return bytes + ":5\r\n";
  };
  ReplyReader good;
  REQUIRE(good.feed(nested(ReplyReader::k_most_depth)));
  const auto reply = good.next();
  REQUIRE(reply.has_value());
  CHECK(reply->has_value());
  for (const std::size_t more : {std::size_t{1}, std::size_t{100'000}}) {
    ReplyReader bad;
    REQUIRE(bad.feed(nested(ReplyReader::k_most_depth + more)));
    const auto none = bad.next();
    REQUIRE_FALSE(none.has_value());
    CHECK(none.error().text == "sent an answer with too many elements, or too deep");
  }
}

TEST_CASE("a wrong password is denied, without the password in the text") {
  FakeRedis server(answering(
      "PING", "-WRONGPASS invalid username-password pair\r\n-NOAUTH Authentication required.\r\n"));
  RedisClient client = client_of(server.url(":s3cret@"));
  const auto answer = client.call({"PING"}, ample());
  CHECK_FALSE(client.connected());
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::denied);
  CHECK(has(answer.error().text, "WRONGPASS"));
}

TEST_CASE("a password that the server repeats is not in the error") {
  FakeRedis server(answering("PING",
                             "-ERR unknown command `AUTH`, with args beginning with: `s3cret`, "
                             "\r\n+PONG\r\n"));
  RedisClient client = client_of(server.url(":s3cret@"));
  const auto answer = client.call({"PING"}, ample());
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::denied);
  CHECK_FALSE(has(answer.error().text, "s3cret"));
}

TEST_CASE("a short password does not change the words of the server") {
  const std::string words = "WRONGPASS invalid username-password pair or user is disabled.";
  for (const std::string password : {"p", "s", "user-", "name"}) {
    FakeRedis server(answering("PING", "-" + words + "\r\n-NOAUTH no\r\n"));
    RedisClient client = client_of(server.url(":" + password + "@"));
    const auto answer = client.call({"PING"}, ample());
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().text.ends_with(" says: " + words));
  }
  FakeRedis server(answering("PING", "-ERR AUTH p is wrong, 'p' too\r\n+PONG\r\n"));
  RedisClient client = client_of(server.url(":p@"));
  const auto answer = client.call({"PING"}, ample());
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().text.ends_with(" says: ERR AUTH *** is wrong, '***' too"));
}

TEST_CASE("a missing password is one sentence, however the server says it") {
  for (const char* answer : {"-NOAUTH Authentication required.\r\n",
                             "-ERR Protocol error: unauthenticated multibulk length\r\n"}) {
    const Error error = error_for(answer);
    CHECK(error.code == Errc::denied);
    CHECK(error.text.ends_with("/0 needs a password: set DLOCK_PASSWORD or give --password-file"));
  }
}

TEST_CASE("the server's words are shown without the place in a script") {
  const std::vector<std::pair<std::string, std::string>> expected{
      {"READONLY You can't write. script: 8639, on @user_script:337.", "READONLY You can't write."},
      {"OOM command not allowed. script: 8639, on @user_script:1.", "OOM command not allowed."},
      {"ERR Error running script (call to f_1): @user_script:12: @user_script: 12: -OOM no",
       "OOM no"},
      {"ERR a script: of its own", "ERR a script: of its own"}};
  for (const auto& row : expected) {
    CAPTURE(row.first);
    CHECK(words_of(row.first) == row.second);
  }
  CHECK(has(
      error_for("-NOPERM No permissions to access a key script: 8639, on @user_script:9.\r\n").text,
      " says: NOPERM No permissions to access a key (the rights needed: ACCESS RULES in "));
}

TEST_CASE("a KeyDB with several masters is a wrong configuration, in one sentence") {
  const Error error = error_for("-MULTIMASTER this KeyDB accepts writes\r\n");
  CHECK(error.code == Errc::bad_config);
  CHECK(
      error.text.ends_with("/0 is a KeyDB that accepts writes on several masters at once, so it "
                           "cannot exclude other clients"));
}

TEST_CASE("undeclared keys refused: the error names the key, and what cannot be kept there") {
  const Error error = error_for(
      "-ERR Error running script (call to c5d6): @user_script:248: script tried "
      "accessing undeclared key, key: {dlock:a}:u:1:rwlock_timeout:1\r\n");
  CHECK(error.code == Errc::refused);
  CHECK(error.text.ends_with(
      " says: script tried accessing undeclared key, key: {dlock:a}:u:1:rwlock_timeout:1 (this "
      "server allows scripts only the keys that are named; readers and slots cannot be kept "
      "there)"));
}

TEST_CASE("a database that does not exist is refused by its number, whatever was asked") {
  FakeRedis server(answering("PING", "-ERR DB index is out of range\r\n+PONG\r\n"));
  RedisClient client = client_of(server.url("", "/99"));
  const auto answer = client.call({"PING"}, ample());
  CHECK_FALSE(client.connected());
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::refused);
  CHECK(has(answer.error().text, "cannot select database 99"));
}

TEST_CASE("error codes differ by what can be done about the error") {
  const std::vector<std::pair<std::string, Errc>> expected{
      {"NOAUTH Authentication required.", Errc::denied},
      {"NOPERM this user has no permissions to run the 'eval' command", Errc::denied},
      {"ERR invalid password", Errc::denied},
      {"ERR Client sent AUTH, but no password is set", Errc::denied},
      {"ERR ACL failure in script: User x has no permissions", Errc::denied},
      {"ERR The user executing the script can't run this command or subcommand script: 0a, on "
       "@user_script:7.",
       Errc::denied},
      {"DENIED Redis is running in protected mode", Errc::denied},
      {"LOADING Redis is loading the dataset in memory", Errc::unavailable},
      {"BUSY Redis is busy running a script.", Errc::unavailable},
      {"MASTERDOWN Link with MASTER is down", Errc::unavailable},
      {"CLUSTERDOWN The cluster is down", Errc::unavailable},
      {"TRYAGAIN Multiple keys request during rehashing of slot", Errc::unavailable},
      {"ERR max number of clients reached", Errc::unavailable},
      {"READONLY You can't write against a read only replica.", Errc::refused},
      {"OOM command not allowed when used memory > 'maxmemory'.", Errc::refused},
      {"MISCONF Redis is configured to save RDB snapshots", Errc::refused},
      {"NOREPLICAS Not enough good replicas to write.", Errc::refused},
      {"MOVED 3999 127.0.0.1:6381", Errc::refused},
      {"ASK 3999 127.0.0.1:6381", Errc::refused},
      {"CROSSSLOT Keys in request don't hash to the same slot", Errc::bad_usage},
      {"WRONGTYPE Operation against a key", Errc::refused},
      {"BUSYKEY Target key name already exists.", Errc::refused},
      {"ERR unknown command 'EVALSHA'", Errc::refused},
      {"ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -LOADING Redis",
       Errc::unavailable},
      {"ERR Error running script (call to f_1): @user_script:12: NOPERM no", Errc::denied},
      {"ERR Error running script (call to f_1): @user_script:12: @user_script: 12: The user "
       "executing the script can't run this command or subcommand",
       Errc::denied},
      {"", Errc::refused}};
  for (const auto& row : expected) {
    CAPTURE(row.first);
    CHECK(classify_error(row.first).code == row.second);
  }
}

TEST_CASE("an error names server, reason and remedy in one short line") {
  const Error error = error_for("-READONLY You can't write \x1b[31magainst a replica.\r\n");
  CHECK(error.code == Errc::refused);
  CHECK(error.text.starts_with("redis://127.0.0.1:"));
  CHECK(has(error.text, "/0 says: READONLY"));
  CHECK(has(error.text, "(this is a replica)"));
  CHECK_FALSE(has(error.text, "\x1b"));
  CHECK(error_for("-ERR " + std::string(100000, 'x') + "\r\n").text.size() < 300);
  CHECK(has(error_for("-MOVED 1 h:1\r\n").text, "node; is it redis+cluster:// ?)"));
}

TEST_CASE(
    "a server with too many clients is unavailable, also when it closes the connection at once") {
  FakeRedis server([](const FakePeer& peer) {
    const UniqueFd connection = peer.accept();
    write_all(connection, "-ERR max number of clients reached\r\n");
  });
  RedisClient client = client_of(server.url(":s3cret@", "/1"));
  const auto answer = client.call({"PING"}, ample());
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::unavailable);
  CHECK(has(answer.error().text, "max number of clients"));
}

TEST_CASE("an error answer keeps the connection, except where another server may be in charge") {
  const auto kept_after = [](const std::string& error) {
    FakeRedis server(answering("PING", error));
    RedisClient client = client_of(server.url());
    CHECK_FALSE(client.call({"PING"}, ample()).has_value());
    return client.connected();
  };
  CHECK(kept_after("-WRONGTYPE Operation\r\n"));
  CHECK_FALSE(kept_after("-READONLY You can't\r\n"));
  CHECK_FALSE(kept_after("-NOAUTH Authentication required.\r\n"));
  CHECK_FALSE(kept_after("-MASTERDOWN Link\r\n"));
}

TEST_CASE("a server that answers a plain request with a TLS alert is said to expect TLS") {
  const Error error = error_for(std::string("\x15\x03\x03\x00\x02\x02\x46", 7));
  CHECK(error.code == Errc::protocol);
  CHECK(error.text.ends_with("/0 expects TLS; is it rediss:// ?"));
}

// Drops two plain requests, as the first may be an answer that was lost. Returns the connection
// that asks in the words of PostgreSQL for TLS.
UniqueFd asked_for_tls(const FakePeer& peer) {
  for (int i = 0; i < 2; ++i) {
    const UniqueFd plain = peer.accept();
    read_until(plain, "PING\r\n");
  }
  UniqueFd asks = peer.accept();
  CHECK(read_until(asks, "\x04\xd2\x16\x2f").size() == 8);
  return asks;
}

TEST_CASE(
    "a server that takes PostgreSQL's request for TLS is PostgreSQL, not one that expects TLS") {
  FakeRedis server([](const FakePeer& peer) { write_all(asked_for_tls(peer), "S"); });
  RedisClient client = client_of(server.url());
  CHECK_FALSE(client.call({"PING"}, ample()).has_value());
  const auto second = client.call({"PING"}, ample());
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().text == client.where() + " is PostgreSQL; is it postgresql:// ?");
}

TEST_CASE("a server that drops a plain request and knows TLS is said to expect TLS, once") {
  FakeRedis server([](const FakePeer& peer) {
    asked_for_tls(peer);
    {
      const UniqueFd tls = peer.accept();
      const std::string hello = read_until(tls, std::string("\xc0\x2f\x01\x00", 4));
      CHECK(hello.substr(0, 3) == "\x16\x03\x01");
      CHECK(hello.size() == 52);
      write_all(tls, "\x16");
    }
    const UniqueFd again = peer.accept();
    read_until(again, "PING\r\n");
  });
  RedisClient client = client_of(server.url());
  CHECK(client.call({"PING"}, ample()).error().code == Errc::unavailable);
  const auto second = client.call({"PING"}, ample());
  CHECK(second.error().code == Errc::protocol);
  CHECK(second.error().text == client.where() + " expects TLS; is it rediss:// ?");
  CHECK(client.call({"PING"}, ample()).error().code == Errc::unavailable);
}

TEST_CASE("a server with another protocol is told apart from a Redis that refuses") {
  const std::vector<std::pair<std::string, std::string>> all{
      {"*-2\r\n", "sent an answer that is not Redis' protocol"},
      {":x\r\n", "sent an answer that is not Redis' protocol"},
      {"$-7\r\n", "sent an answer that is not Redis' protocol"},
      {"\r\n", "sent an answer that is not Redis' protocol"},
      {"HTTP/1.1 400 Bad Request\r\n\r\n", "speaks HTTP, as etcd does; is it etcd:// ?"},
      {std::string("\x4a\0\0\0\n8", 6), "is MariaDB or MySQL; is it mysql:// ?"},
      {"SSH-2.0-OpenSSH_9.2\r\n", "is an SSH server"}};
  for (const auto& [answer, text] : all) {
    const Error error = error_for(answer);
    CHECK(error.code == Errc::protocol);
    CHECK(error.text.ends_with("/0 " + text));
  }
}

TEST_CASE(
    "an array of two thousand million elements is refused before memory is allocated for it") {
  CHECK(error_for("*2147483647\r\n").code == Errc::protocol);
  CHECK(error_for("*1\r\n*100001\r\n").code == Errc::protocol);
}

TEST_CASE("an answer over 4 MiB is refused, of whatever kind") {
  const Error bulk = error_for("$99999999\r\n" + std::string(5U << 20U, 'x'));
  CHECK(bulk.code == Errc::protocol);
  CHECK(has(bulk.text, "more than 4 MiB"));
  CHECK(error_for("+" + std::string(5U << 20U, 'x')).code == Errc::protocol);
}

TEST_CASE("a large answer below the caps is taken whole") {
  const std::string text(std::size_t{4'000'000}, 'x');
  FakeRedis server(answering("PING", "$4000000\r\n" + text + "\r\n"));
  RedisClient client = client_of(server.url());
  const auto answer = client.call({"PING"}, ample());
  client.disconnect();
  REQUIRE(answer.has_value());
  CHECK(answer->reply.string() == text);
}

}  // namespace
}  // namespace dlock
