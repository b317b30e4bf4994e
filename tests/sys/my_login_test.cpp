// SPDX-License-Identifier: MIT
#include "store/mysql/my_password.hpp"
#include "store/mysql/my_session.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "support/fake_mysql8.hpp"
#include "support/has.hpp"
#include "support/temp_dir.hpp"

namespace dlock {
namespace {

using test::ample;
using test::FakeMysql8;
using test::FakePeer;
using test::has;
using test::RsaKey;

bool is_right(const std::string& proof) {
  return proof == sha2_proof("s3cret", FakeMysql8::nonce());
}

// Tries a login and returns its result; error texts must never have the password.
Result<std::vector<sql::Answer>> login(FakeMysql8& server,
                                       const FakePeer& peer,
                                       const std::string& url) {
  auto address = parse_my_url(url);
  REQUIRE(address.has_value());
  std::thread thread([&] { server.serve(peer, is_right); });
  MySession my(std::move(*address), nullptr);
  auto rows = my.run({{"DO 1"}}, ample());
  my.disconnect();
  thread.join();
  if (!rows) CHECK_FALSE(has(rows.error().text, "s3cret"));
  return rows;
}

Result<std::vector<sql::Answer>> login(FakeMysql8& server,
                                       const std::string& user = "ann:s3cret@",
                                       const std::string& options = "") {
  const FakePeer peer;
  return login(server,
               peer,
               "mysql://" + user + "127.0.0.1:" + std::to_string(peer.port()) + "/d" + options);
}

TEST_CASE("mysql 8: a server that knows the password's digest needs only a proof") {
  FakeMysql8 server;
  CHECK(login(server).has_value());
  CHECK(server.proof.size() == 32);
  CHECK(server.shown.empty());
}

TEST_CASE("mysql 8: a server without Galera is asked again without its variable") {
  FakeMysql8 server;
  server.lacks = "wsrep_sync_wait";
  const FakePeer peer;
  auto address = parse_my_url("mysql://ann:s3cret@127.0.0.1:" + std::to_string(peer.port()) + "/d");
  REQUIRE(address.has_value());
  std::thread thread([&] {
    server.serve(peer, is_right);
    server.serve(peer, is_right);
  });
  MySession my(std::move(*address), nullptr);
  CHECK(my.run({{"DO 1"}}, ample()).has_value());
  CHECK(my.run({{"DO 1"}}, ample()).has_value());
  my.disconnect();
  thread.join();
}

TEST_CASE("mysql 8: a wrong proof is denied") {
  FakeMysql8 server;
  const auto rows = login(server, "ann:wr0ng@");
  REQUIRE_FALSE(rows.has_value());
  CHECK(rows.error().code == Errc::denied);
  CHECK(has(rows.error().text, "Access denied"));
}

TEST_CASE("mysql 8: an empty password is sent as such") {
  FakeMysql8 server;
  const auto rows = login(server, "ann@");
  CHECK_FALSE(rows.has_value());
  CHECK(server.proof == std::string(1, '\0'));
}

TEST_CASE("mysql 8: over TCP the password is shown by the server's key alone, if that is wished") {
  const RsaKey key;
  FakeMysql8 server;
  server.knows_digest = false;
  server.key = &key;
  CHECK(login(server, "ann:s3cret@", "?ssl-mode=disabled").has_value());
  CHECK(server.shown == std::string("s3cret\0", 7));
}

TEST_CASE("mysql 8: an unproven key gets no password that was not meant for it") {
  const RsaKey key;
  FakeMysql8 server;
  server.knows_digest = false;
  server.key = &key;
  const auto rows = login(server);
  REQUIRE_FALSE(rows.has_value());
  CHECK(rows.error().code == Errc::denied);
  CHECK(has(rows.error().text, "an unproven key"));
  CHECK(server.shown.empty());
}

TEST_CASE("mysql 8: a password longer than the nonce is shown whole") {
  const RsaKey key;
  FakeMysql8 server;
  server.knows_digest = false;
  server.key = &key;
  server.password = "a password of more than twenty bytes";
  CHECK(login(server, "ann:a%20password%20of%20more%20than%20twenty%20bytes@", "?ssl-mode=disabled")
            .has_value());
}

TEST_CASE("mysql 8: over a unix socket the password is shown as it is") {
  const test::TempDir folder;
  const FakePeer peer(folder.path() + "/s");
  FakeMysql8 server;
  server.knows_digest = false;
  CHECK(login(server, peer, "mysql://ann:s3cret@/d?socket=" + folder.path() + "/s").has_value());
  CHECK(server.shown == std::string("s3cret\0", 7));
}

TEST_CASE("mysql 8: without TLS and without a key the password is not shown, and that is said") {
  FakeMysql8 server;
  server.knows_digest = false;
  const auto rows = login(server, "ann:s3cret@", "?ssl-mode=disabled");
  REQUIRE_FALSE(rows.has_value());
  CHECK(rows.error().code == Errc::denied);
  CHECK(has(rows.error().text, "needs TLS or a unix socket"));
  CHECK(server.shown.empty());
}

TEST_CASE("mysql: no server makes us show the password in clear") {
  for (const char* const plugin :
       {"mysql_clear_password", "dialog", "mysql_old_password", "../../../tmp/evil"}) {
    FakeMysql8 server;
    server.switches_to = plugin;
    const auto rows = login(server);
    REQUIRE_FALSE(rows.has_value());
    CHECK(rows.error().code == Errc::denied);
    CHECK(has(rows.error().text, "wants a way to log in that dlock does not have"));
    CHECK_FALSE(has(server.rest, "s3cret"));
  }
}

TEST_CASE("mysql: where TLS is wanted, a server without it learns nothing") {
  FakeMysql8 server;
  const auto rows = login(server, "ann:s3cret@", "?ssl-mode=required");
  REQUIRE_FALSE(rows.has_value());
  CHECK(rows.error().code == Errc::protocol);
  CHECK(has(rows.error().text, "offers no TLS"));
  CHECK(server.proof.empty());
}

TEST_CASE("mysql: what comes in clear behind the greeting is not read as if it had come by TLS") {
  FakeMysql8 server;
  server.offers_tls = true;
  server.greeting_ends = std::string("\x07\0\0\2\0\0\0\2\0\0\0", 11);
  const auto rows = login(server, "ann:s3cret@", "?ssl-mode=required");
  REQUIRE_FALSE(rows.has_value());
  CHECK(rows.error().code == Errc::protocol);
  CHECK(server.proof.empty());
}

// An independent client shows that the fake server speaks as MySQL 8 does.
TEST_CASE("mysql 8: MariaDB's own client logs in at the stand-in") {
  const RsaKey key;
  for (const bool knows_digest : {true, false}) {
    FakeMysql8 server;
    server.knows_digest = knows_digest;
    server.key = &key;
    const FakePeer peer;
    std::thread thread([&] { server.serve(peer, is_right); });
    const std::string command = "mariadb --no-defaults --skip-ssl -h 127.0.0.1 -P " +
                                std::to_string(peer.port()) +
                                " -uann -ps3cret -e 'DO 1' >/dev/null 2>&1";
    CHECK(std::system(command.c_str()) == 0);
    thread.join();
    CHECK(is_right(server.proof));
    CHECK(server.shown == (knows_digest ? std::string() : std::string("s3cret\0", 7)));
  }
}

}  // namespace
}  // namespace dlock
