// SPDX-License-Identifier: MIT
// What RedisStore sends to a server, and how it reacts to answers that a real server rarely gives.
#include "core/names.hpp"
#include "store/open_store.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/fake_redis.hpp"
#include "support/has.hpp"
#include "support/redis_process.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using test::ample;
using test::answering;
using test::FakePeer;
using test::FakeRedis;
using test::has;
using test::read_until;
using test::write_all;

// Returns one line without its end; empty if the stream has ended.
std::string next_line(const UniqueFd& from) {
  std::string line;
  char byte = 0;
  while (test::readable(from.get()) && ::recv(from.get(), &byte, 1, 0) == 1) {
    if (byte == '\n') break;
    if (byte != '\r') line += byte;
  }
  return line;
}

// Returns the first word of the next command; empty if there is no command. Words have no line
// breaks.
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

std::unique_ptr<LockStore> store_at(const FakeRedis& server, int replicas = 0) {
  auto store =
      open_store({.url = server.url(), .prefix = "dlock:", .password = {}, .replicas = replicas});
  REQUIRE(store.has_value());
  return std::move(*store);
}

Claim claim() {
  return {.names = {*LockName::parse("n")},
          .owner = "o:1",
          .serial = "s",
          .ttl = std::chrono::seconds(10),
          .who = {},
          .ancestors = {}};
}

Holds hold() {
  return {{.name = *LockName::parse("n"),
           .owner = "o:1",
           .serial = "s",
           .ttl = std::chrono::seconds(10),
           .who = {}}};
}

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

// The answer of acquire to claim(), in its two forms.
const std::string k_record = bulk(R"({"token":7,"since_ms":1,"host":"h","pid":1,"ttl_ms":10000})");
const std::string k_granted = "*3\r\n" + bulk("granted") + bulk("o:1") + k_record;

}  // namespace

// Between two commands there is always room for another client.
TEST_CASE("store: acquire, renew and release are one script each and nothing else") {
  std::vector<std::string> verbs;
  FakeRedis server([&](const FakePeer& peer) {
    const std::vector<std::string> answers{k_granted, "*1\r\n" + bulk("renewed"), bulk("released")};
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
    const auto granted = store->acquire(claim(), Queueing::no, ample());
    REQUIRE(granted.has_value());
    CHECK(std::get<Grant>(*granted).holds.front().token == 7);
    CHECK(store->renew(hold(), ample())->verdict == RenewVerdict::renewed);
    CHECK(*store->release(hold(), {}, ample()) == ReleaseVerdict::released);
  }
  server.join();
  CHECK(verbs == std::vector<std::string>{"EVALSHA", "EVALSHA", "EVALSHA"});
}

// On another connection, or behind an answer, WAIT would not be about this write.
TEST_CASE("store: with --replicas WAIT goes with a claim and a renewal, in one write") {
  std::vector<std::string> got;
  FakeRedis server([&](const FakePeer& peer) {
    const std::string wait = "*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$3\r\n100\r\n";
    const UniqueFd connection = peer.accept();
    got.push_back(read_until(connection, wait));
    write_all(connection, "-NOSCRIPT\r\n:0\r\n");  // of what was written before
    got.push_back(read_until(connection, wait));
    write_all(connection, k_granted + ":1\r\n");
    got.push_back(read_until(connection, wait));
    write_all(connection, ":2\r\n");
    got.push_back(read_until(connection, wait));
    write_all(connection, "*1\r\n" + bulk("renewed") + ":2\r\n");
    got.push_back(read_until(connection, "dlock:n}\r\n"));
    write_all(connection, "*1\r\n" + bulk("held"));
    read_until(connection, "");
  });
  {
    const auto store = store_at(server, 2);
    const auto granted = store->acquire(claim(), Queueing::no, ample());
    REQUIRE(granted.has_value());
    CHECK(std::holds_alternative<Grant>(*granted));
    CHECK(store->renew(hold(), ample())->verdict == RenewVerdict::renewed);
    CHECK(store->check(hold(), ample())->verdict == RenewVerdict::held);
  }
  server.join();
  REQUIRE(got.size() == 5);
  CHECK(has(got[0], "EVALSHA"));
  CHECK(has(got[1], "EVAL\r\n"));
  CHECK_FALSE(has(got[2], "EVAL"));
  CHECK(has(got[3], "EVALSHA"));
  CHECK_FALSE(has(got[4], "WAIT"));
}

TEST_CASE(
    "F04: store: too few replicas, or none in time, leave a claim and a renewal unconfirmed") {
  FakeRedis server([&](const FakePeer& peer) {
    const std::string wait = "\r\n100\r\n";
    const UniqueFd connection = peer.accept();
    read_until(connection, wait);
    write_all(connection, k_granted + ":1\r\n");
    read_until(connection, wait);
    write_all(connection, "*1\r\n" + bulk("renewed"));  // and no answer to WAIT
    read_until(connection, "");
  });
  const auto store = store_at(server, 2);
  Claim brief = claim();
  brief.ttl = 1s;  // a tenth of it is too short for a second WAIT
  const auto granted = store->acquire(brief, Queueing::no, ample());
  REQUIRE_FALSE(granted.has_value());
  CHECK(granted.error().code == Errc::unconfirmed);
  CHECK(has(granted.error().text, "only 1 of 2 replicas of redis://127.0.0.1:"));
  CHECK(has(granted.error().text, "--replicas (0: "));
  const auto renewed = store->renew(hold(), BootClock::now() + 1s);
  REQUIRE_FALSE(renewed.has_value());
  CHECK(renewed.error().code == Errc::unconfirmed);
  CHECK(has(renewed.error().text, "only 0 of 2 replicas"));
}

TEST_CASE("store: a connection lost before WAIT is repeated says nothing about the replicas") {
  FakeRedis server([&](const FakePeer& peer) {
    const UniqueFd connection = peer.accept();
    read_until(connection, "\r\n100\r\n");
    write_all(connection, k_granted + ":1\r\n");
  });
  const auto store = store_at(server, 2);
  const auto granted = store->acquire(claim(), Queueing::no, BootClock::now() + 2s);
  REQUIRE_FALSE(granted.has_value());
  CHECK(granted.error().code == Errc::unavailable);
}

TEST_CASE("store: a server without WAIT refuses a claim with --replicas and says why") {
  for (const auto& [reply, code] :
       {std::pair("-ERR unknown command 'WAIT', with args beginning with: '1' '100' \r\n",
                  Errc::refused),
        std::pair("-NOPERM this user has no permissions to run the 'wait' command\r\n",
                  Errc::denied)}) {
    FakeRedis server(answering("\r\n100\r\n", k_granted + reply));
    const auto store = store_at(server, 1);
    const auto granted = store->acquire(claim(), Queueing::no, ample());
    REQUIRE_FALSE(granted.has_value());
    CHECK(granted.error().code == code);
    CHECK(has(granted.error().text, "; --replicas needs WAIT, --replicas 0 does not"));
  }
}

TEST_CASE("store: a record alone is the grant of one name, to the claim's own owner") {
  for (const bool two : {false, true}) {
    FakeRedis server([&](const FakePeer& peer) {
      const UniqueFd connection = peer.accept();
      for (std::string verb; !(verb = next_verb(connection)).empty();)
        write_all(connection, verb == "EVALSHA" ? k_record : ":1\r\n");
    });
    Claim asked = claim();
    if (two) asked.names.push_back(*LockName::parse("m"));
    const auto store = store_at(server);
    const auto answer = store->acquire(asked, Queueing::no, ample());
    CHECK(answer.has_value() == !two);
    if (!answer) {
      CHECK(answer.error().code == Errc::protocol);
      continue;
    }
    const auto* const grant = std::get_if<Grant>(&*answer);
    REQUIRE(grant != nullptr);
    CHECK(grant->holds.front().owner == "o:1");
    CHECK(grant->holds.front().token == 7);
  }
}

// The owner gets into shell text and into the environment of the command.
TEST_CASE("store: a grant to an owner that the claim cannot be is no grant") {
  const std::string other = "o\033[2J:1";
  std::string answer = k_granted;
  answer.replace(answer.find(bulk("o:1")), bulk("o:1").size(), bulk(other));
  for (const bool above : {false, true}) {
    FakeRedis server([&](const FakePeer& peer) {
      const UniqueFd connection = peer.accept();
      for (std::string verb; !(verb = next_verb(connection)).empty();)
        write_all(connection, verb == "EVALSHA" ? answer : ":1\r\n");
    });
    Claim asked = claim();
    if (above) asked.ancestors = {{.store = "s", .key = "dlock:n", .owner = other, .serial = "t"}};
    const auto store = store_at(server);
    const auto granted = store->acquire(asked, Queueing::no, ample());
    CHECK(granted.has_value() == above);
    if (!granted) CHECK(granted.error().code == Errc::protocol);
  }
}

// A message for a turn that has no receiver counts as a sign that the waiter is dead.
TEST_CASE("store: a new subscription begins before the old one ends") {
  bool old_one_open = false;
  bool old_one_closed = false;
  FakeRedis server([&](const FakePeer& peer) {
    const UniqueFd first = peer.accept();
    read_until(first, "SUBSCRIBE");
    const std::string confirmation = "*3\r\n" + bulk("subscribe") + bulk("c") + ":1\r\n";
    write_all(first, confirmation);
    const UniqueFd second = peer.accept();
    read_until(second, "ID\r\n");
    write_all(second, ":7\r\n");
    read_until(second, "__redis__:invalidate\r\n");
    char byte = 0;
    old_one_open = ::recv(first.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0 || errno == EAGAIN;
    write_all(second, confirmation + confirmation + confirmation);
    const UniqueFd questions = peer.accept();
    read_until(questions, "REDIRECT\r\n$1\r\n7\r\n");
    write_all(questions, "+OK\r\n");
    read_until(first, "");
    old_one_closed = true;
    read_until(second, "");
  });
  {
    const auto store = store_at(server);
    REQUIRE(store->watch(claim(), false, ample()).has_value());
    const auto watching = store->watch(claim(), true, ample());
    REQUIRE(watching.has_value());
    CHECK(watching->untracked_because.empty());
  }
  server.join();
  CHECK(old_one_open);
  CHECK(old_one_closed);
}

TEST_CASE("store: every waiter subscribes to its turn, the first also tracks the key") {
  const auto server = test::RedisProcess::start();
  REQUIRE(server.has_value());
  auto store = open_store({.url = (*server)->url(), .prefix = "dlock:", .password = {}});
  REQUIRE(store.has_value());
  const auto address = parse_redis_url((*server)->url());
  REQUIRE(address.has_value());
  RedisClient client(*address, nullptr);
  const auto channels = [&] {
    const auto listed = client.call({"PUBSUB", "CHANNELS"}, ample());
    REQUIRE(listed.has_value());
    std::set<std::string> names;
    for (std::size_t i = 0; i < listed->reply.size(); ++i)
      names.emplace(listed->reply[i].string());
    return names;
  };
  using Names = std::set<std::string>;
  const std::string turn = "dlock:turn:{dlock:n}:o:1#s";
  REQUIRE((*store)->watch(claim(), false, ample()).has_value());
  CHECK(channels() == Names{turn});
  REQUIRE((*store)->watch(claim(), true, ample()).has_value());
  CHECK(channels() == Names{turn, "redisson_lock__channel:{dlock:n}", "__redis__:invalidate"});
  REQUIRE((*store)->acquire(claim(), Queueing::no, ample()).has_value());
  REQUIRE((*store)->watch_hold(hold(), ample()).has_value());
  CHECK((*store)->check(hold(), ample())->verdict == RenewVerdict::held);
  REQUIRE(client.call({"DEL", "dlock:n"}, ample()).has_value());
  const auto news = (*store)->await_hand_off(ample());
  REQUIRE(news.has_value());
  CHECK(*news == HandOff::changed);
}

TEST_CASE("store: a holder that did not wait tracks the key and subscribes to nothing else") {
  const auto server = test::RedisProcess::start();
  REQUIRE(server.has_value());
  auto store = open_store({.url = (*server)->url(), .prefix = "dlock:", .password = {}});
  REQUIRE(store.has_value());
  REQUIRE((*store)->acquire(claim(), Queueing::no, ample()).has_value());
  REQUIRE((*store)->watch_hold(hold(), ample()).has_value());
  CHECK((*store)->check(hold(), ample())->verdict == RenewVerdict::held);
  const auto address = parse_redis_url((*server)->url());
  REQUIRE(address.has_value());
  RedisClient client(*address, nullptr);
  const auto listed = client.call({"PUBSUB", "CHANNELS"}, ample());
  REQUIRE(listed.has_value());
  REQUIRE(listed->reply.size() == 1);
  CHECK(listed->reply[0].string() == "__redis__:invalidate");
  REQUIRE(client.call({"FLUSHALL"}, ample()).has_value());
  const auto news = (*store)->await_hand_off(ample());
  REQUIRE(news.has_value());
  CHECK(*news == HandOff::changed);
}

// Unknown is neither held nor lost (rule 4).
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
    CHECK_FALSE(store->acquire(claim(), Queueing::no, ample()).has_value());
    CHECK_FALSE(store->renew(hold(), ample()).has_value());
    CHECK_FALSE(store->release(hold(), {}, ample()).has_value());
  }
}

}  // namespace dlock
