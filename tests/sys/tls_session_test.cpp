// SPDX-License-Identifier: MIT
#include "sys/tls_session.hpp"

#include "sys/tls_stream.hpp"
#include "sys/transport.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "support/fake_peer.hpp"
#include "support/temp_dir.hpp"
#include "support/tls_server.hpp"

namespace dlock {
namespace {

using test::TlsCertificate;
using test::TlsServer;

TlsSession new_session() {
  TlsSettings settings;
  settings.insecure = true;
  auto session = TlsSession::open(settings, "127.0.0.1");
  REQUIRE(session.has_value());
  return std::move(*session);
}

// Returns a session that trusts the certificate of `trusted` and expects the name `host`.
TlsSession careful_session(const TlsServer& trusted, const std::string& host) {
  const test::TempDir folder;
  TlsSettings settings;
  settings.cacert = folder.path() + "/ca";
  std::ofstream(settings.cacert) << trusted.certificate();
  auto session = TlsSession::open(settings, host);
  REQUIRE(session.has_value());
  return std::move(*session);
}

// Passes bytes on until neither side has any; the client gets them in pieces.
Result<void> exchange(TlsSession& client, TlsServer& server, std::size_t piece = 7) {
  for (;;) {
    server.feed(std::exchange(client.unsent(), {}));
    const std::string sealed = server.sealed();
    if (sealed.empty()) return {};
    for (std::size_t i = 0; i < sealed.size(); i += piece) {
      if (auto fed = client.feed(std::string_view(sealed).substr(i, piece)); !fed) return fed;
    }
  }
}

TEST_CASE("tls: a handshake, a question and an answer, however the bytes are cut") {
  for (const std::size_t piece : {1U, 2U, 5U, 100U, 100000U}) {
    CAPTURE(piece);
    TlsServer server;
    TlsSession client = new_session();
    CHECK_FALSE(client.established());
    CHECK_FALSE(client.heard());
    REQUIRE(exchange(client, server, piece));
    CHECK(client.established());
    REQUIRE(client.seal("ping"));
    CHECK(client.unsent().find("ping") == std::string::npos);
    CHECK(server.feed(std::exchange(client.unsent(), {})) == "ping");
    const std::string large(50000, 'x');
    server.say("pong");
    server.say(large);
    REQUIRE(exchange(client, server, piece));
    CHECK(client.plain() == "pong" + large);
  }
}

TEST_CASE("tls: the version, the names and the end of the server's certificate can be read") {
  TlsServer server;
  TlsSession client = careful_session(server, "127.0.0.1");
  REQUIRE(exchange(client, server));
  const TlsFacts facts = client.facts();
  CHECK(facts.version == "TLSv1.3");
  CHECK(facts.names == std::vector<std::string>{"127.0.0.1"});
  CHECK(facts.end.ends_with(" UTC"));
  CHECK(facts.left > std::chrono::hours(23));
  CHECK(facts.left <= std::chrono::hours(24));
}

TEST_CASE("tls: a server that is not trusted is refused before the session is established") {
  TlsServer server;
  const TlsServer other;
  const auto refused = [&](TlsSession client) {
    TlsServer fresh;
    const auto done = exchange(client, fresh);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().code == Errc::protocol);
    CHECK_FALSE(client.established());
    return done.error().text;
  };
  CHECK(refused(careful_session(other, "127.0.0.1"))
            .starts_with("its certificate is not signed by anyone trusted here"));
  TlsSession good = careful_session(server, "127.0.0.1");
  REQUIRE(exchange(good, server));
  CHECK(good.established());
}

TEST_CASE("tls: a trusted server with another name is refused before the session is established") {
  TlsServer server;
  TlsSession client = careful_session(server, "127.0.0.2");
  const auto done = exchange(client, server);
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().text ==
        "its certificate is for 127.0.0.1, not for \"127.0.0.2\"; connect by one of these names");
  CHECK_FALSE(client.established());
}

// Returns the error; empty: the certificate of the server is accepted for the host.
std::string refused(const TlsCertificate& certificate, const std::string& host) {
  TlsServer server(certificate);
  TlsSession client = careful_session(server, host);
  const auto done = exchange(client, server);
  return done ? "" : done.error().text;
}
std::string refused_for(const std::string& names, const std::string& host) {
  return refused({.names = names}, host);
}

TEST_CASE("tls: a weak key, one for clients only and a name that is cut by a NUL are refused") {
  const std::string host = "db.example.com";
  const std::string names = "DNS:" + host;
  CHECK(refused({.names = names, .rsa_bits = 2048}, host).empty());
  CHECK_FALSE(refused({.names = names, .rsa_bits = 1024}, host).empty());
  CHECK(refused({.names = names, .usage = "serverAuth"}, host).empty());
  CHECK_FALSE(refused({.names = names, .usage = "clientAuth"}, host).empty());
  CHECK(refused({.raw_name = host}, host).empty());
  CHECK_FALSE(refused({.raw_name = host + std::string("\0.evil.org", 10)}, host).empty());
  CHECK_FALSE(refused_for("DNS:*", "localhost").empty());
  CHECK_FALSE(refused_for("DNS:*", host).empty());
  CHECK_FALSE(refused_for("DNS:127.0.0.1", "127.0.0.1").empty());
}

TEST_CASE("tls: a pattern stands for a whole first part of a name, and is no name to ask for") {
  CHECK(refused_for("DNS:*.example.com", "redis.example.com").empty());
  CHECK(refused_for("DNS:re*.example.com", "redis.example.com") ==
        "its certificate is for re*.example.com, not for \"redis.example.com\"; connect by one of "
        "these names");
  CHECK(refused_for("DNS:re*.example.com,DNS:db.example.com", "redis.example.com")
            .ends_with("; connect by one of these names, or say --sni db.example.com"));
}

TEST_CASE("tls: no certificate has the dot at the end of a host, or an address' interface") {
  CHECK(refused_for("DNS:db.example.com", "db.example.com.").empty());
  CHECK(refused_for("IP:fe80::1", "fe80::1%eth0").empty());
  CHECK_FALSE(refused_for("IP:fe80::1", "fe80::2%eth0").empty());
}

TEST_CASE("tls: session tickets and key updates carry no plain byte, and are answered") {
  TlsServer server;
  TlsSession client = new_session();
  REQUIRE(exchange(client, server));
  CHECK(client.plain().empty());  // the tickets have come
  server.update_keys();
  REQUIRE(client.feed(server.sealed()));
  CHECK(client.plain().empty());
  REQUIRE(client.seal("after"));  // our key update travels before it
  CHECK(server.feed(std::exchange(client.unsent(), {})) == "after");
}

TEST_CASE("tls: the end comes behind the plain bytes before it") {
  TlsServer server;
  TlsSession client = new_session();
  REQUIRE(exchange(client, server));
  server.say("last");
  server.say_goodbye();
  const auto fed = client.feed(server.sealed());
  REQUIRE_FALSE(fed.has_value());
  CHECK(fed.error().text == "closed the connection");
  CHECK(fed.error().code == Errc::unavailable);
  CHECK(client.plain() == "last");
}

TEST_CASE("tls: a record that was changed on the way ends the session without a plain byte") {
  TlsServer server;
  TlsSession client = new_session();
  REQUIRE(exchange(client, server));
  server.say("secret");
  std::string sealed = server.sealed();
  sealed.back() = static_cast<char>(sealed.back() ^ 1);
  const auto fed = client.feed(sealed);
  REQUIRE_FALSE(fed.has_value());
  CHECK(fed.error().code == Errc::protocol);
  CHECK(client.plain().empty());
}

TEST_CASE("tls: bytes that are no TLS are refused at the first one") {
  TlsSession client = new_session();
  const auto fed = client.feed("-ERR unknown command\r\n");
  REQUIRE_FALSE(fed.has_value());
  CHECK(fed.error().text == "it does not speak TLS; is it redis:// ?");
}

TEST_CASE("tls: a stream is idle while only tickets and key updates come, and keeps no byte back") {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
  const UniqueFd theirs(ends[1]);
  TlsServer server;
  UniqueFd ours(ends[0]);
  TlsStream stream(std::move(ours), new_session());
  const auto to_server = [&] {
    std::array<char, 65536> bytes{};
    const auto n = ::recv(theirs.get(), bytes.data(), bytes.size(), 0);
    return server.feed({bytes.data(), n > 0 ? static_cast<std::size_t>(n) : 0});
  };
  const auto to_client = [&] {
    const std::string bytes = server.sealed();
    REQUIRE(::send(theirs.get(), bytes.data(), bytes.size(), 0) ==
            static_cast<ssize_t>(bytes.size()));
  };
  REQUIRE_FALSE(*stream.shake_hands());
  to_server();
  to_client();
  REQUIRE(*stream.shake_hands());
  CHECK(*stream.send("ping") == 4);
  CHECK(to_server() == "ping");
  server.update_keys();
  to_client();  // with the tickets
  CHECK(stream.idle());
  CHECK_FALSE(stream.pending());
  to_server();  // our part of the key update went out
  server.say("po");
  server.say("ng");
  to_client();
  CHECK_FALSE(stream.idle());
  CHECK(stream.pending());
  std::array<char, 3> small{};
  CHECK(*stream.receive(small.data(), small.size()) == 3);
  CHECK(stream.pending());
  CHECK(*stream.receive(small.data(), small.size()) == 1);
  CHECK_FALSE(stream.pending());
  CHECK(stream.idle());
}

TEST_CASE("tls: a file that cannot be used ends a connection that is still on its way") {
  // A queue that is full: the kernel drops the next one that wants to connect.
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(listener.get(), generic, size) == 0);
  REQUIRE(::listen(listener.get(), 0) == 0);
  REQUIRE(::getsockname(listener.get(), generic, &size) == 0);
  std::array<UniqueFd, 3> before;
  for (UniqueFd& one : before) {
    one = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ::connect(one.get(), generic, size);
  }
  TlsSettings settings;
  settings.cacert = "/nowhere/ca";
  Endpoint to{.host = "127.0.0.1", .port = ntohs(address.sin_port), .socket_path = "", .tls = {}};
  to.tls = std::make_shared<const TlsSettings>(settings);
  const Time limit = test::ample();
  const auto connected = Transport::connect(to, limit, nullptr);
  REQUIRE_FALSE(connected.has_value());
  CHECK(connected.error().code == Errc::bad_config);
  CHECK(BootClock::now() < limit);
}

}  // namespace
}  // namespace dlock
