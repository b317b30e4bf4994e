// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_session.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/has.hpp"
#include "support/zk_sessions.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;

using test::ample;
using test::done;
using test::expired;
using test::failed;
using test::FakePeer;
using test::has;
using test::pause;
using test::read_until;
using test::soon;
using test::there;
using test::write_all;
using test::zk_session_of;
using test::ZkRequests;
using test::ZookeeperEnsemble;

// Sessions from 800 ms to 8 s; a leader asks its followers every 200 ms which sessions live.
ZookeeperEnsemble& servers() {
  static const auto shared = ZookeeperEnsemble::create("tickTime=400");
  CAPTURE((shared ? "" : shared.error().text));
  REQUIRE(shared.has_value());
  return **shared;
}

std::string url_of(const FakePeer& peer) {
  return "zookeeper://127.0.0.1:" + std::to_string(peer.port());
}

// The answer to a connect: a session of two seconds.
const std::string k_welcome(
    "\0\0\0\x25\0\0\0\0\0\0\x07\xd0\0\0\0\0\0\0\0\x05\0\0\0\x10"
    "0123456789abcdef\0",
    41);

ZkRequest node(const std::string& path, ZkNode kind = ZkNode::ephemeral) {
  return {.op = ZkOp::create, .path = path, .node = kind};
}

// Returns how long after `sent` the node was gone. Another session looks, so that this does not
// renew the session.
Duration gone_after(ZkSession& other, const std::string& path, Time sent) {
  for (const Time limit = ample(); BootClock::now() < limit; pause(10ms))
    if (!there(other, path)) return BootClock::now() - sent;
  FAIL("it does not go");
  return {};
}

// Returns how long a session lives whose follower freezes right after its answer to a write. The
// write comes at three quarters of the timeout.
Duration life_after(const std::string& path, Duration timeout, bool attaches) {
  const std::size_t leader = *servers().leader();
  const std::size_t follower = (leader + 1) % ZookeeperEnsemble::k_servers;
  ZkSession other = zk_session_of(servers().at(leader).url(), 8s);
  ZkSession one = zk_session_of(servers().at(follower).url(), timeout);
  done(one, node(path));
  pause(std::chrono::duration_cast<std::chrono::milliseconds>(timeout * 3 / 4));
  const ZkRequests write{{.op = ZkOp::set_data, .path = path, .version = 0}};
  const auto answers = attaches ? one.reattach(write, ample()) : one.run(write, ample());
  const test::Frozen frozen(servers().at(follower));
  CHECK(done(answers)[0].code == ZkCode::ok);
  return gone_after(other, path, one.sent_at());
}

TEST_CASE("zk: only a re-attach renews: its follower freezes, and the node outlives its time") {
  constexpr auto k_timeout = 1600ms;
  CHECK(life_after("/renewed", k_timeout, true) >= k_timeout);
  // The same write without a re-attach. It does not renew the session, unless the follower tells
  // its leader of the write just before it freezes: so this is tried several times.
  Duration shortest = 1h;
  for (int i = 0; i < 5 && shortest >= k_timeout; ++i)
    shortest = std::min(shortest, life_after("/written", k_timeout, false));
  CHECK(shortest < k_timeout);
}

TEST_CASE("zk: a session goes on at another server when its own has gone") {
  const std::size_t leader = *servers().leader();
  ZkSession one = zk_session_of(servers().url(leader), 8s);
  const auto made = done(one, node("/moves"));
  const auto number = one.identity().number;
  servers().at(leader).kill();
  std::optional<ZkAnswer> written;
  std::string said;
  // The remaining servers first elect a leader; until then they close connections.
  for (const Time limit = ample(); !written && BootClock::now() < limit; pause(50ms)) {
    const auto answers =
        one.reattach({{.op = ZkOp::set_data, .path = "/moves", .data = "x"}}, limit);
    if (answers && !answers->expired) written = answers->answers.front();
    if (!answers) said = answers.error().text;
  }
  REQUIRE(written.has_value());
  CHECK(written->code == ZkCode::ok);
  CHECK(written->stat.mzxid > made.stat.czxid);
  CHECK(one.identity().number == number);
  CHECK((said.empty() || has(said, "cannot reach " + one.where()) || has(said, "lost")));
  REQUIRE(servers().at(leader).start().has_value());
}

TEST_CASE("zk: without a quorum there is no answer, and no verdict") {
  const std::size_t leader = *servers().leader();
  ZkSession one = zk_session_of(servers().at(leader).url(), 8s);
  done(one, node("/alone"));
  const test::Frozen second(servers().at((leader + 1) % ZookeeperEnsemble::k_servers));
  const test::Frozen third(servers().at((leader + 2) % ZookeeperEnsemble::k_servers));
  const auto answers =
      one.reattach({{.op = ZkOp::set_data, .path = "/alone"}}, BootClock::now() + 500ms);
  REQUIRE_FALSE(answers.has_value());
  CHECK((answers.error().code == Errc::timed_out || answers.error().code == Errc::unavailable));
}

TEST_CASE("N18: zk: a server that is not there, hangs up or keeps silent is passed over") {
  const test::DeafPort deaf;
  const FakePeer closing;
  const FakePeer silent;
  std::thread hangs_up([&] {
    const UniqueFd client = closing.accept();
    // Only the question for a session has come: 4 + 45 bytes.
    std::array<char, 100> bytes{};
    CHECK(::recv(client.get(), bytes.data(), bytes.size(), 0) == 49);
  });
  const std::string local = ",127.0.0.1:";
  ZkSession one =
      zk_session_of("zookeeper://127.0.0.1:" + std::to_string(deaf.port) + local +
                        std::to_string(closing.port()) + local + std::to_string(silent.port()) +
                        "," + servers().url().substr(std::string("zookeeper://").size()),
                    4s);
  const auto answers = one.run({node("/passed")}, BootClock::now() + 3s);
  hangs_up.join();
  CHECK(done(answers)[0].code == ZkCode::ok);
  // From now on at once.
  const Time before = BootClock::now();
  done(one.reattach({}, ample()));
  CHECK(BootClock::now() - before < 400ms);
}

TEST_CASE("zk: all of it travels in one write, and what may have been carried out is not resent") {
  const FakePeer first;
  const FakePeer second;
  ZkSession one = zk_session_of(url_of(first) + ",127.0.0.1:" + std::to_string(second.port()));
  const ZkRequests create{node("/a")};
  Time heard{};
  auto served = std::async([&] {
    const UniqueFd client = first.accept();
    read_until(client, "\x10" + std::string(17, '\0'));
    heard = BootClock::now();
    write_all(client, k_welcome);
    read_until(client, "/a");  // and hangs up
  });
  CHECK(failed(one, create, ample()).code == Errc::unavailable);
  served.get();
  CHECK(one.sent_at() <= heard);  // the server may have counted from then
  // It has served, and is the first of the next run: with all that is to be said.
  std::string seen;
  served = std::async([&] {
    const UniqueFd client = first.accept();
    std::array<char, 1000> bytes{};
    const auto n = ::recv(client.get(), bytes.data(), bytes.size(), 0);
    heard = BootClock::now();
    seen.assign(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  });
  CHECK(failed(one, create, ample()).code == Errc::unavailable);
  served.get();
  CHECK(one.sent_at() <= heard);
  CHECK(has(seen, "0123456789abcdef"));
  CHECK(has(seen, "/a"));
  pollfd polled{second.fd(), POLLIN, 0};
  CHECK(::poll(&polled, 1, 0) == 0);
}

TEST_CASE("zk: what is no ZooKeeper is told so") {
  const std::vector<std::pair<std::string, std::string>> all{
      {"-ERR unknown command\r\n", "speaks as Redis does; is it redis:// ?"},
      {"HTTP/1.1 400 Bad Request\r\n\r\n", "speaks HTTP, as etcd does; is it etcd:// ?"},
      {std::string("E\0\0\0\x8cSFATAL", 11), "is PostgreSQL; is it postgresql:// ?"},
      {std::string("\x4a\0\0\0\n8.0", 8), "is MariaDB or MySQL; is it mysql:// ?"},
      {"220 mail.example.com ESMTP\r\n", "does not speak as ZooKeeper does"},
      {std::string("\0\0\0\4abcd", 8), "does not speak as ZooKeeper does"},
      {k_welcome + std::string("\0\0\0\x10\0\0\0\x09\0\0\0\0\0\0\0\0\0\0\0\0", 20),
       "does not speak as ZooKeeper does"},
      {"\x15\x03\x01", "expects TLS; is it zookeepers:// ?"}};
  for (const auto& [answer, text] : all) {
    CAPTURE(text);
    const FakePeer peer;
    std::thread other([&, said = answer] {
      const UniqueFd client = peer.accept();
      write_all(client, said);
      read_until(client, "");
    });
    ZkSession wrong = zk_session_of(url_of(peer));
    const Error error = failed(wrong, {node("/a")}, ample());
    wrong.disconnect();
    other.join();
    CHECK(error.code == Errc::protocol);
    CHECK(error.text == wrong.where() + " " + text);
  }
}

TEST_CASE("zk: a server that cuts a session short is believed no renewal") {
  const FakePeer peer;
  ZkIdentity ours;
  ours.number = 5;
  ZkSession one = zk_session_of(url_of(peer), 3s, nullptr, ours);
  std::thread other([&] {
    const UniqueFd client = peer.accept();
    write_all(client, k_welcome);
    read_until(client, "");
  });
  const Error error = failed(one, {{.op = ZkOp::set_data, .path = "/a"}}, ample());
  other.join();
  CHECK(error.code == Errc::lost);
  CHECK(error.text ==
        one.where() + " allows sessions of at most 2s, less than the servers before it");
}

}  // namespace
}  // namespace dlock
