// SPDX-License-Identifier: MIT
// A connection to a real server that ends or becomes silent in the middle of an answer.
#include "store/postgres/pg_session.hpp"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "support/fake_peer.hpp"
#include "support/has.hpp"
#include "support/pg_sessions.hpp"

namespace dlock {
namespace {

using test::done;
using test::FakePeer;
using test::has;
using test::one_value;
using test::server;
using test::session;
using test::session_of;

enum class Cut { closed, silent };

// A proxy between sessions and the socket of the server: only the first `most` bytes that the
// server sends on a connection arrive.
class CuttingProxy {
 public:
  CuttingProxy() : thread_([this] { serve(); }) {}
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;
  ~CuttingProxy() {
    ends_ = true;
    thread_.join();
  }

  std::string url() const {
    return "postgresql://postgres@127.0.0.1:" + std::to_string(peer_.port()) +
           "/postgres?sslmode=disable";
  }
  std::atomic<std::size_t> most = 0;
  std::atomic<Cut> cut = Cut::closed;
  std::atomic<std::size_t> passed = 0;  // on the newest connection

 private:
  void serve() {
    while (!ends_) {
      pollfd listening{peer_.fd(), POLLIN, 0};
      if (::poll(&listening, 1, 20) > 0) carry(peer_.accept());
    }
  }

  void carry(const UniqueFd& client) {
    const UniqueFd upstream(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = server().socket_path();
    std::memcpy(address.sun_path, path.c_str(), path.size());
    if (::connect(upstream.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      return;
    passed = 0;
    std::array<pollfd, 2> fds{{{client.get(), POLLIN, 0}, {upstream.get(), POLLIN, 0}}};
    std::array<char, 4096> bytes{};
    while (!ends_) {
      if (::poll(fds.data(), fds.size(), 20) <= 0) continue;
      if (fds[0].revents != 0) {
        const auto n = ::recv(client.get(), bytes.data(), bytes.size(), 0);
        if (n <= 0) return;
        test::write_all(upstream, {bytes.data(), static_cast<std::size_t>(n)});
      }
      if (fds[1].revents == 0) continue;
      const auto n = ::recv(upstream.get(), bytes.data(), bytes.size(), 0);
      if (n <= 0) return;
      const auto size = std::min(static_cast<std::size_t>(n), most - passed);
      passed += size;  // before the client can know
      test::write_all(client, {bytes.data(), size});
      if (passed == most && cut == Cut::closed) return;
    }
  }

  FakePeer peer_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

const std::vector<sql::Statement> k_add{
    {"insert into cut values (1)"}, {"select 'a row', null"}, {"notify dlock_cut"}};

TEST_CASE("pg: a connection that is cut anywhere is no verdict, and says nothing wrong") {
  PgSession direct = session();
  done(direct, {{"drop table if exists cut"}, {"create table cut (v int)"}});
  CuttingProxy proxy;
  proxy.most = 1'000'000;
  PgSession whole = session_of(proxy.url());
  done(whole, k_add);
  whole.disconnect();
  const std::size_t all = proxy.passed;
  REQUIRE(all > 200);

  int tried = 1;
  for (std::size_t most = 0; most < all; most += 3) {
    CAPTURE(most);
    proxy.most = most;
    // To wait for the limit each time would take too long.
    proxy.cut = most % 10 == 0 ? Cut::silent : Cut::closed;
    PgSession one = session_of(proxy.url());
    const auto limit = std::chrono::milliseconds(proxy.cut == Cut::silent ? 30 : 10'000);
    const auto answers = one.run(k_add, BootClock::now() + limit);
    ++tried;
    REQUIRE_FALSE(answers.has_value());
    const Errc code = answers.error().code;
    CAPTURE(answers.error().text);
    CHECK(code == (proxy.cut == Cut::silent ? Errc::timed_out : Errc::unavailable));
    CHECK(has(answers.error().text, one.where()));
    CHECK(one.failure().sqlstate.empty());
    CHECK_FALSE(one.connected());
  }
  // Some of them have gone through, and none twice.
  const int found = std::stoi(one_value(direct, "select count(*) from cut"));
  CHECK(found > 1);
  CHECK(found < tried);
}

}  // namespace
}  // namespace dlock
