// SPDX-License-Identifier: MIT
// What RedisStore asks of a server, and what it makes of answers that a real one gives seldom.
#include "store/redis/redis_store.hpp"

#include "core/names.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/fake_redis.hpp"

namespace dlock {
namespace {

using test::ample;
using test::FakePeer;
using test::FakeRedis;
using test::write_all;

// One line without its end; empty when the stream has ended.
std::string next_line(const UniqueFd& from) {
  std::string line;
  char byte = 0;
  while (test::readable(from.get()) && ::recv(from.get(), &byte, 1, 0) == 1) {
    if (byte == '\n') break;
    if (byte != '\r') line += byte;
  }
  return line;
}

// The first word of the next command; empty when there is none. The words have no line breaks.
std::string next_verb(const UniqueFd& from) {
  const std::string count = next_line(from);
  if (count.empty()) return {};
  std::string verb;
  for (int i = 0; i < std::stoi(count.substr(1)); ++i) {
    next_line(from);
    const std::string word = next_line(from);
    if (i == 0) verb = word;
  }
  return verb;
}

std::unique_ptr<LockStore> store_at(const FakeRedis& server) {
  auto store = RedisStore::open({.url = server.url(), .prefix = "dlock:", .password = {}});
  REQUIRE(store.has_value());
  return std::move(*store);
}

Claim claim() {
  return {.name = *LockName::parse("n"),
          .owner = "o:1",
          .serial = "s",
          .ttl = std::chrono::seconds(10),
          .who = {},
          .ancestors = {}};
}

Hold hold() {
  return {.name = *LockName::parse("n"),
          .owner = "o:1",
          .serial = "s",
          .ttl = std::chrono::seconds(10),
          .who = {}};
}

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

}  // namespace

// Between two commands there is always room for another client.
TEST_CASE("store: acquire, renew and release are one script each and nothing else") {
  std::vector<std::string> verbs;
  FakeRedis server([&](const FakePeer& peer) {
    const std::vector<std::string> answers{
        "*3\r\n" + bulk("granted") + bulk("o:1") +
            bulk(R"({"token":7,"since_ms":1,"host":"h","pid":1,"ttl_ms":10000})"),
        "*1\r\n" + bulk("renewed"),
        "*2\r\n" + bulk("released") + ":1\r\n"};
    const UniqueFd connection = peer.accept();
    std::size_t answered = 0;
    for (std::string verb; !(verb = next_verb(connection)).empty();) {
      verbs.push_back(verb);
      const bool script = verb == "EVALSHA" && answered < answers.size();
      write_all(connection, script ? answers[answered++] : ":1\r\n");
    }
  });
  {
    const auto store = store_at(server);
    const auto granted = store->acquire(claim(), ample());
    REQUIRE(granted.has_value());
    CHECK(std::get<Grant>(*granted).hold.token == 7);
    CHECK(store->renew(hold(), ample())->verdict == RenewVerdict::renewed);
    CHECK(*store->release(hold(), ample()) == ReleaseVerdict::released);
  }
  server.join();
  CHECK(verbs == std::vector<std::string>{"EVALSHA", "EVALSHA", "EVALSHA"});
}

// Unknown is neither held nor lost (faults.md 2.3-4).
TEST_CASE("store: a refusal and an answer that makes no sense are errors, never a verdict") {
  for (const std::string answer : {"-LOADING Redis is loading",
                                   "-BUSY Redis is busy",
                                   "-MISCONF cannot save",
                                   "-OOM no",
                                   "-NOREPLICAS few",
                                   "-READONLY replica",
                                   "-MASTERDOWN link",
                                   "-CLUSTERDOWN no",
                                   "-TRYAGAIN later",
                                   "-NOAUTH who",
                                   "-NOPERM not you",
                                   "-ERR what",
                                   "+OK",
                                   ":1",
                                   "$-1",
                                   "*0",
                                   "*-1",
                                   "*1\r\n$4\r\nlots",
                                   "*2\r\n$4\r\nlost\r\n*0",
                                   "what"}) {
    CAPTURE(answer);
    FakeRedis server([&](const FakePeer& peer) {
      for (int questions = 0; questions < 3;) {
        const UniqueFd connection = peer.accept();  // some answers cost the connection
        if (!connection) return;
        for (; questions < 3 && !next_verb(connection).empty(); ++questions)
          write_all(connection, answer + "\r\n");
      }
    });
    const auto store = store_at(server);
    CHECK_FALSE(store->acquire(claim(), ample()).has_value());
    CHECK_FALSE(store->renew(hold(), ample()).has_value());
    CHECK_FALSE(store->release(hold(), ample()).has_value());
  }
}

}  // namespace dlock
