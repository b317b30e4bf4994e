// SPDX-License-Identifier: MIT
// What stores with several hosts in a URL do about a host that cannot be used.
#include "store/open_store.hpp"

#include <doctest/doctest.h>

#include <poll.h>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "support/fake_peer.hpp"
#include "support/fake_redis.hpp"
#include "support/has.hpp"
#include "support/temp_dir.hpp"
#include "support/tls_server.hpp"

namespace dlock {
namespace {

using namespace std::string_literals;
using test::ample;
using test::answering;
using test::DeafPort;
using test::FakePeer;
using test::FakeRedis;
using test::has;
using test::TlsServer;
using test::write_all;

// A server with a certificate of its own. `asked`: clients first ask for TLS, as those of
// PostgreSQL do.
class Stranger {
 public:
  explicit Stranger(bool asked) : asked_(asked), thread_([this] { serve(); }) {}
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() { heard(); }

  std::string host() const { return "127.0.0.1:" + std::to_string(peer_.port()); }
  // Ends the server and returns what clients have sent over TLS.
  std::string heard() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
    return heard_;
  }

 private:
  void serve() {
    while (!ended_) {
      pollfd polled{peer_.fd(), POLLIN, 0};
      if (::poll(&polled, 1, 10) == 1) serve(peer_.accept());
    }
  }
  void serve(const UniqueFd& client) {
    const std::string wants_tls = "\0\0\0\x08\x04\xd2\x16\x2f"s;
    TlsServer tls;
    bool waits = asked_;
    std::array<char, 4096> buffer{};
    while (test::readable(client.get())) {
      const auto n = ::recv(client.get(), buffer.data(), buffer.size(), 0);
      if (n <= 0) return;
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
      if (waits && bytes != wants_tls) return;
      if (waits) write_all(client, "S");
      if (!waits) heard_ += tls.feed(bytes);
      write_all(client, tls.sealed());
      waits = false;
    }
  }

  bool asked_;
  FakePeer peer_;
  std::atomic<bool> ended_ = false;
  std::string heard_;
  std::thread thread_;
};

std::string deaf(const DeafPort& port) {
  return "127.0.0.1:" + std::to_string(port.port);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

// A store with two hosts: the parts of its URL before and after them.
struct Kind {
  std::string before;
  std::string behind;
  bool asks = false;  // the client asks the server for TLS
};

Error failed(const Kind& kind,
             const std::string& first,
             const std::string& second,
             const TlsSettings& tls = {}) {
  const auto store =
      open_store({.url = kind.before + first + "," + second + kind.behind, .tls = tls});
  CAPTURE((store ? "" : store.error().text));
  REQUIRE(store.has_value());
  const auto holding = (*store)->inspect(*LockName::parse("n"), ample());
  REQUIRE_FALSE(holding.has_value());
  return holding.error();
}

// TLS settings that trust only the certificate of another server.
struct Trust {
  Trust() {
    settings.cacert = folder.path() + "/ca";
    std::ofstream(settings.cacert) << TlsServer().certificate();
  }
  test::TempDir folder;
  TlsSettings settings;
};

const Kind k_with_tls[] = {{"rediss+cluster://", ""},
                           {"rediss+sentinel://", "/m"},
                           {"etcds://", ""},
                           {"zookeepers://", ""},
                           {"postgresql://", "/d?sslmode=verify-full", true}};

TEST_CASE("N17: a host whose certificate is not accepted gets nothing, and the next one is asked") {
  for (const Kind& kind : k_with_tls) {
    CAPTURE(kind.before);
    Stranger first(kind.asks);
    Stranger second(kind.asks);
    const Error error = failed(kind, first.host(), second.host(), Trust().settings);
    CAPTURE(error.text);
    CHECK(error.code == Errc::protocol);
    CHECK(count(error.text, ": its certificate is not signed by") == 2);
    CHECK(first.heard() + second.heard() == "");
  }
}

TEST_CASE("hosts that fail for different reasons are unavailable, and each reason is told") {
  for (const Kind& kind : k_with_tls) {
    CAPTURE(kind.before);
    const DeafPort deaf_port;
    Stranger stranger(kind.asks);
    for (const bool deaf_first : {true, false}) {
      CAPTURE(deaf_first);
      const Error error = failed(kind,
                                 deaf_first ? deaf(deaf_port) : stranger.host(),
                                 deaf_first ? stranger.host() : deaf(deaf_port),
                                 Trust().settings);
      CAPTURE(error.text);
      CHECK(error.code == Errc::unavailable);
      CHECK(count(error.text, ": its certificate is not signed by") == 1);
      CHECK(count(error.text, ": connection refused") == 1);
    }
  }
}

TEST_CASE("a host that refuses the password ends the search: no other host is asked") {
  struct Refusal {
    Kind kind;
    std::string question;  // its end
    std::string answer;
  };
  const Refusal refusals[] = {
      {{"redis+cluster://:no@", ""}, "AUTH", "-WRONGPASS invalid password\r\n"},
      {{"postgresql://ann:no@", "/d?sslmode=disable"},
       "database",
       "E\0\0\0\x1eSFATAL\0VFATAL\0C28P01\0Mno\0\0"s}};
  for (const Refusal& one : refusals) {
    CAPTURE(one.kind.before);
    FakeRedis first(answering(one.question, one.answer));
    const DeafPort second;
    const Error error = failed(one.kind, first.url().substr("redis://"s.size()), deaf(second));
    CAPTURE(error.text);
    CHECK(error.code == Errc::denied);
    CHECK_FALSE(has(error.text, "connection refused"));
  }
}

}  // namespace
}  // namespace dlock
