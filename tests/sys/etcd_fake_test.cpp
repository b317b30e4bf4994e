// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_client.hpp"
#include "store/open_store.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/etcd_clients.hpp"
#include "support/fake_peer.hpp"
#include "support/has.hpp"

namespace dlock {
namespace {

using namespace std::chrono_literals;
using test::ample;
using test::done;
using test::etcd_client;
using test::failed;
using test::FakePeer;
using test::has;
using test::put;
using test::read_until;
using test::soon;
using test::write_all;

// A server that runs the code of a test in its own thread.
class FakeEtcd {
 public:
  explicit FakeEtcd(std::function<void(const FakePeer&)> act)
      : thread_([this, act = std::move(act)] { act(peer_); }) {}
  FakeEtcd(const FakeEtcd&) = delete;
  FakeEtcd& operator=(const FakeEtcd&) = delete;
  ~FakeEtcd() { join(); }

  void join() {
    if (thread_.joinable()) thread_.join();
  }
  std::string url(const std::string& user = "") const {
    return "etcd://" + user + "127.0.0.1:" + std::to_string(peer_.port());
  }

 private:
  FakePeer peer_;
  std::thread thread_;
};

// Returns the code for one connection: it answers the first request, and closes the connection
// after the client has closed it.
std::function<void(const FakePeer&)> answering(const std::string& answer) {
  return [=](const FakePeer& peer) {
    const UniqueFd client = peer.accept();
    read_until(client, "}");
    write_all(client, answer);
    read_until(client, "");
  };
}

std::string http(const std::string& body, const std::string& head = "200 OK\r\n") {
  return "HTTP/1.1 " + head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
const std::string k_header = R"({"header":{"revision":"5"})";
std::string counted(int count) {
  const std::string key = R"({"key":"YQ==","mod_revision":")" + std::to_string(count) + R"("})";
  return http(k_header + R"(,"kvs":[)" + key + R"(],"count":"1"})");
}

const EtcdGet k_get{{"a"}};

TEST_CASE("etcd: the request is as HTTP wants it") {
  std::string asked;
  FakeEtcd fake([&](const FakePeer& peer) {
    const UniqueFd client = peer.accept();
    asked = read_until(client, "}");
    write_all(client, counted(1));
    read_until(client, "");
  });
  EtcdClient one = etcd_client(fake.url());
  CHECK(done(one, {k_get})[0].keys[0].modified == 1);
  one.disconnect();
  fake.join();
  CHECK(asked ==
        "POST /v3/kv/range HTTP/1.1\r\nContent-Type: application/json\r\n"
        "Grpc-Metadata-Hasleader: true\r\nHost: " +
            fake.url().substr(7) + "\r\nContent-Length: 14\r\n\r\n{\"key\":\"YQ==\"}");
}

TEST_CASE("etcd: an answer that leads elsewhere is not followed") {
  for (const char* const status :
       {"301 Moved Permanently", "302 Found", "307 Temporary Redirect"}) {
    std::string more;
    FakeEtcd fake([&](const FakePeer& peer) {
      const UniqueFd client = peer.accept();
      read_until(client, "}");
      const std::string to = "http://127.0.0.1:" + std::to_string(peer.port()) + "/v3/kv/range";
      write_all(client, http("", status + ("\r\nLocation: " + to + "\r\n")));
      more = read_until(client, "");
    });
    EtcdClient one = etcd_client(fake.url());
    CHECK_FALSE(failed(one, {k_get}).text.empty());
    one.disconnect();
    fake.join();
    CHECK(more.empty());
  }
}

TEST_CASE("etcd: garbage is no answer, and the connection is dropped") {
  for (const std::string& answer :
       std::vector<std::string>{"-ERR unknown command\r\n",
                                "garbage\r\n\r\n",
                                http("<html>"),
                                http(""),
                                http("{}"),
                                http(k_header + R"(,"kvs":[{"key":"YQ"}],"count":"1"})"),
                                http(k_header + R"(,"count":"1"})"),
                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"}) {
    CAPTURE(answer);
    FakeEtcd fake(answering(answer));
    EtcdClient one = etcd_client(fake.url());
    const Error error = failed(one, {k_get});
    CHECK(error.code == Errc::protocol);
    CHECK(error.text.starts_with(one.where() + " "));
    CHECK_FALSE(one.connected());
  }
}

TEST_CASE("etcd: a server that hangs up twice is asked what it is, and a Redis says so") {
  FakeEtcd redis([](const FakePeer& peer) {
    for (std::string asked; asked.find("PING") == std::string::npos;) {
      const UniqueFd client = peer.accept();
      asked = read_until(client, "\n");
      if (asked.starts_with("PING")) write_all(client, "-NOAUTH Authentication required.\r\n");
    }
  });
  EtcdClient client = etcd_client(redis.url());
  CHECK(failed(client, {k_get}).code == Errc::unavailable);
  const Error error = failed(client, {k_get});
  CHECK(error.code == Errc::protocol);
  CHECK(error.text == redis.url() + " speaks as Redis does; is it redis:// ?");
}

TEST_CASE("etcd: an answer that is cut off, and one that ends with the connection") {
  for (const std::string& answer :
       std::vector<std::string>{"",
                                "HTTP/1.1 200",
                                "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}"}) {
    CAPTURE(answer);
    FakeEtcd fake([&](const FakePeer& peer) {
      const UniqueFd client = peer.accept();
      read_until(client, "}");
      write_all(client, answer);
    });
    EtcdClient one = etcd_client(fake.url());
    const Error error = failed(one, {k_get});
    CHECK(error.code == Errc::unavailable);
    CHECK(error.text == "lost the connection to " + one.where() + ": closed the connection");
  }
  FakeEtcd fake([&](const FakePeer& peer) {
    for (int i = 0; i < 2; ++i) {
      const UniqueFd client = peer.accept();
      read_until(client, "}");
      write_all(client, "HTTP/1.0 200 OK\r\n\r\n" + k_header + "}");
    }
  });
  EtcdClient one = etcd_client(fake.url());
  CHECK(done(one, {k_get})[0].revision == 5);
  CHECK(done(one, {k_get})[0].revision == 5);
}

TEST_CASE("etcd: the second of two answers that keeps away is an outage") {
  FakeEtcd fake([&](const FakePeer& peer) {
    const UniqueFd client = peer.accept();
    read_until(client, "}POST");
    write_all(client, http(k_header + "}", "200 OK\r\nConnection: close\r\n"));
    read_until(client, "");
  });
  EtcdClient one = etcd_client(fake.url());
  CHECK(failed(one, {k_get, k_get}).code == Errc::unavailable);
  CHECK_FALSE(one.connected());
}

TEST_CASE("N18: etcd: a member that says nothing leaves half of the time for the next one") {
  FakeEtcd silent([](const FakePeer& peer) { read_until(peer.accept(), ""); });
  FakeEtcd other(answering(counted(1)));
  EtcdClient client = etcd_client(silent.url() + "," + other.url().substr(sizeof "etcd://" - 1));
  const Time limit = BootClock::now() + 3s;
  CHECK(failed(client, {k_get}, limit).code == Errc::timed_out);
  CHECK(limit - BootClock::now() > 500ms);
  CHECK(client.run({k_get}, limit).has_value());
}

TEST_CASE("etcd: an answer that comes late is never taken for the next one") {
  FakeEtcd fake([](const FakePeer& peer) {
    const UniqueFd first = peer.accept();
    read_until(first, "}");
    const UniqueFd second = peer.accept();
    read_until(second, "}");
    write_all(first, counted(1));
    write_all(second, counted(2));
    read_until(second, "}");
    // Two answers, and one request: the second one is no answer to a later request.
    write_all(second, counted(3) + counted(4));
    const UniqueFd third = peer.accept();
    read_until(third, "}");
    write_all(third, counted(5));
    read_until(third, "");
  });
  EtcdClient one = etcd_client(fake.url());
  CHECK(failed(one, {k_get}, soon()).code == Errc::timed_out);
  CHECK(done(one, {k_get})[0].keys[0].modified == 2);
  CHECK(done(one, {k_get})[0].keys[0].modified == 3);
  CHECK(done(one, {k_get})[0].keys[0].modified == 5);
  one.disconnect();
}

TEST_CASE("etcd: an answer for nobody is not taken for the next one, early or late") {
  for (const bool late : {false, true}) {
    std::promise<void> early;
    FakeEtcd fake([&](const FakePeer& peer) {
      const UniqueFd client = peer.accept();
      read_until(client, "}");
      write_all(client, counted(1));
      const std::string told = http(k_header + "}") + http(k_header + "}");
      if (!late) {
        read_until(client, std::string(4096, ' '));
        write_all(client, told);
        early.set_value();
      }
      read_until(client, "YQ==");
      write_all(client, (late ? told : "") + counted(2));
      read_until(client, "");
    });
    EtcdClient one = etcd_client(fake.url());
    CHECK(done(one, {k_get})[0].keys[0].modified == 1);
    one.tell({EtcdRevoke{7}}, ample());
    if (!late) early.get_future().wait();
    CHECK(done(one, {k_get})[0].keys[0].modified == 2);
    one.disconnect();
  }
}

TEST_CASE("etcd: what stands in place of etcd for a while is an outage once etcd has answered") {
  for (const bool answered : {false, true}) {
    FakeEtcd fake([=](const FakePeer& peer) {
      const UniqueFd client = peer.accept();
      for (int i = 0; i < 1 + static_cast<int>(answered); ++i) {
        read_until(client, "}");
        const bool first = answered && i == 0;
        write_all(client, first ? counted(1) : http("404 page not found\n", "404 No\r\n"));
      }
      read_until(client, "");
    });
    EtcdClient one = etcd_client(fake.url());
    if (answered) done(one, {k_get});
    CHECK(failed(one, {k_get}).code == (answered ? Errc::unavailable : Errc::bad_config));
    CHECK_FALSE(one.connected());
  }
}

TEST_CASE("etcd: only what was refused for its login is sent again, and once") {
  const std::string refused =
      http(R"({"message":"etcdserver: invalid auth token","code":16})", "401 Unauthorized\r\n");
  const auto token = [](const std::string& text) {
    return http(k_header + R"(,"token":")" + text + R"("})");
  };
  std::string again;
  FakeEtcd fake([&](const FakePeer& peer) {
    const UniqueFd client = peer.accept();
    read_until(client, "authenticate");
    write_all(client, token("one"));
    read_until(client, "\"9\"}");
    write_all(client,
              http(R"({"result":{"header":{"revision":"5"},"ID":"9","TTL":"7"}})") + refused);
    read_until(client, "authenticate");
    write_all(client, token("two"));
    again = read_until(client, "}");
    write_all(client, refused);
    read_until(client, "");
  });
  EtcdClient one = etcd_client(fake.url("ann:s3cret@"));
  const Error error = failed(one, {EtcdKeepAlive{9}, k_get});
  CHECK(error.code == Errc::denied);
  CHECK(one.failure().request == 1);
  CHECK_FALSE(has(error.text, "s3cret"));
  one.disconnect();
  fake.join();
  CHECK(has(again, "Authorization: two\r\n"));
  CHECK_FALSE(has(again, "keepalive"));
}

TEST_CASE("etcd: a server that is busy or without a leader may be asked the same again") {
  FakeEtcd fake(answering(http(R"({"message":"etcdserver: too many requests","code":8})",
                               "429 Too Many Requests\r\n")));
  EtcdClient one = etcd_client(fake.url());
  CHECK(failed(one, {k_get}).code == Errc::unavailable);
  CHECK(one.failure().repeat);
  CHECK_FALSE(one.connected());
}

// Answers requests until the client has gone: every lock is free, and every write comes too late.
void outpace(const UniqueFd& client) {
  const std::string free = R"({"response_range":{}})";
  while (test::readable(client.get())) {
    std::array<char, 8192> buffer{};
    const auto n = ::recv(client.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) return;
    const std::string asked(buffer.data(), static_cast<std::size_t>(n));
    const auto id = asked.find(R"("ID":")");
    if (id != std::string::npos)
      write_all(
          client,
          http(k_header + R"(,"TTL":"30",)" + asked.substr(id, asked.find('}', id) - id + 1)));
    if (asked.find(R"("compare":[])") != std::string::npos)
      write_all(client,
                http(k_header + R"(,"succeeded":true,"responses":[)" + free + "," + free + "," +
                     free + "]}"));
    else if (has(asked, "/v3/kv/txn"))
      write_all(client, http(k_header + "}"));
  }
}

TEST_CASE("etcd: a claim that others outpace until its limit says so") {
  FakeEtcd fake([](const FakePeer& peer) { outpace(peer.accept()); });
  auto store = open_store({.url = fake.url()});
  REQUIRE(store.has_value());
  const Claim claim{.names = {*LockName::parse("n")}, .owner = make_owner_id(1), .ttl = 30s};
  const auto reply = (*store)->acquire(claim, Queueing::no, BootClock::now() + 200ms);
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().code == Errc::timed_out);
  CAPTURE(reply.error().text);
  CHECK(reply.error().text.starts_with("locks at " + (*store)->where() + " changed "));
  CHECK(has(reply.error().text, " times while they were read or written; "));
  store->reset();
}

TEST_CASE("etcd watch: lines in pieces, and an end with or without a reason") {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto chunk = [](const std::string& bytes) {
    std::string size(1, "0123456789abcdef"[bytes.size() / 16]);
    return size + "0123456789abcdef"[bytes.size() % 16] + "\r\n" + bytes + "\r\n";
  };
  const std::string created = R"({"result":{"created":true}})";
  const std::string news = R"({"result":{"events":[{"type":"DELETE","kv":{"key":"YQ=="}}]}})";
  const std::string no_leader = R"({"error":{"grpc_code":14,"message":"etcdserver: no leader"}})";
  for (const std::string& last : {no_leader + "\n", no_leader, std::string("\n"), std::string()}) {
    CAPTURE(last);
    FakeEtcd fake([&](const FakePeer& peer) {
      const UniqueFd client = peer.accept();
      read_until(client, "}}");
      write_all(client, head + chunk(created + "\n" + news.substr(0, 9)));
      ::poll(nullptr, 0, 20);
      write_all(client, chunk(news.substr(9) + "\n"));
      if (!last.empty()) write_all(client, chunk(last) + "0\r\n\r\n");
      if (!last.empty()) read_until(client, "");
    });
    EtcdClient one = etcd_client(fake.url());
    EtcdWatch watch = one.watch();
    REQUIRE(watch.open({{"a"}}, 0, ample()).has_value());
    const auto event = watch.await_event(ample());
    REQUIRE(event.has_value());
    REQUIRE(event->has_value());
    CHECK((*event)->deleted);
    const auto end = watch.await_event(ample());
    REQUIRE_FALSE(end.has_value());
    CHECK(end.error().code == (last == "\n" ? Errc::protocol : Errc::unavailable));
    CHECK(has(end.error().text, "no leader") == last.starts_with("{"));
    CHECK_FALSE(watch.is_open());
  }
}

TEST_CASE("etcd watch: a server that does not begin it") {
  FakeEtcd silent([](const FakePeer& peer) {
    const UniqueFd client = peer.accept();
    read_until(client, "");
  });
  EtcdClient one = etcd_client(silent.url());
  const auto late = one.watch().open({{"a"}}, 0, soon());
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().code == Errc::timed_out);
  CHECK(has(late.error().text, "no answer from " + one.where() + " within"));

  FakeEtcd without(answering(http("404 page not found\n", "404 Not Found\r\n")));
  EtcdClient two = etcd_client(without.url());
  CHECK(two.watch().open({{"a"}}, 0, ample()).error().code == Errc::bad_config);
}

}  // namespace
}  // namespace dlock
