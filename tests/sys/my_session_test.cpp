// SPDX-License-Identifier: MIT
#include "store/mysql/my_session.hpp"

#include "base/user_name.hpp"
#include "sys/wake_up.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/fake_peer.hpp"
#include "support/has.hpp"
#include "support/mysql_process.hpp"

namespace dlock {
namespace {

using test::ample;
using test::FakePeer;
using test::has;
using test::MysqlProcess;
using test::soon;

// Returns the server for all cases of this file.
MysqlProcess& maria() {
  static const auto server = MysqlProcess::start();
  REQUIRE(server.has_value());
  return **server;
}

MySession session(const std::string& url,
                  const Interrupt* interrupt = nullptr,
                  const TlsSettings& tls = {}) {
  auto address = parse_my_url(url, tls);
  REQUIRE(address.has_value());
  return {std::move(*address), interrupt};
}

// Returns the only value of the only row of a statement.
sql::Value value_of(MySession& my, const std::string& statement) {
  const auto rows = my.run({{statement}}, ample());
  if (!rows) FAIL(rows.error().text);
  REQUIRE(rows->size() == 1);
  REQUIRE(rows->front().rows.size() == 1);
  return rows->front().rows.front().front();
}

Error failure_of(MySession& my, const std::string& statement, Time limit = ample()) {
  const auto rows = my.run({{statement}}, limit);
  REQUIRE_FALSE(rows.has_value());
  return rows.error();
}

void must(MySession& my, const std::vector<std::string>& texts) {
  std::vector<sql::Statement> statements;
  for (const std::string& text : texts)
    statements.push_back({text});
  const auto rows = my.run(statements, ample());
  if (!rows) FAIL(rows.error().text);
}

TEST_CASE("mysql: a session answers, by the socket and by TCP, with and without a password") {
  for (const std::string& url : {maria().url(), maria().url("ann:s3cret@"), maria().tcp_url()}) {
    MySession my = session(url);
    CHECK_FALSE(my.connected());
    CHECK(value_of(my, "SELECT 'a'") == "a");
    CHECK(my.connected());
    CHECK(value_of(my, "SELECT CONNECTION_ID()") == std::to_string(my.connection_id()));
    CHECK(my.is_mariadb());
    CHECK(has(my.server_version(), value_of(my, "SELECT VERSION()").value_or("-")));
  }
}

TEST_CASE("mysql: a session is as it promises, whatever the server's defaults are") {
  MySession root = session(maria().url());
  must(root, {"SET GLOBAL autocommit = 0, GLOBAL sql_mode = 'NO_BACKSLASH_ESCAPES'"});
  MySession my = session(maria().url());
  CHECK(value_of(my, "SELECT @@autocommit") == "1");
  CHECK(value_of(my, "SELECT @@sql_mode") == "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION");
  CHECK(value_of(my, "SELECT @@tx_isolation") == "READ-COMMITTED");
  CHECK(value_of(my, "SELECT @@character_set_client") == "utf8mb4");
  must(root, {"SET GLOBAL autocommit = DEFAULT, GLOBAL sql_mode = DEFAULT"});
}

TEST_CASE(
    "mysql: a wrong password, a missing one and a missing right are denied, with the server's "
    "word") {
  MySession wrong = session(maria().url("ann:wr0ng@"));
  const Error error = failure_of(wrong, "SELECT 1");
  CHECK(error.code == Errc::denied);
  CHECK(has(error.text, "Access denied for user 'ann'"));
  CHECK(has(error.text, wrong.where()));
  CHECK_FALSE(has(error.text, "wr0ng"));
  CHECK(wrong.server_errno() == 1045);
  CHECK_FALSE(wrong.connected());
  MySession none = session(maria().url("ann@"));
  CHECK(failure_of(none, "SELECT 1").code == Errc::denied);
  MySession ann = session(maria().tcp_url());
  CHECK(failure_of(ann, "SELECT * FROM mysql.user").code == Errc::denied);
  CHECK(ann.server_errno() == 1142);
}

TEST_CASE("mysql: the login name is enough where the server asks the socket who we are") {
  MySession root = session(maria().url());
  must(root,
       {"CREATE OR REPLACE USER `" + user_name() + "`@localhost IDENTIFIED VIA unix_socket",
        "GRANT ALL ON *.* TO `" + user_name() + "`@localhost WITH GRANT OPTION"});
  MySession my = session(maria().url(""));
  CHECK(value_of(my, "SELECT CURRENT_USER()") == user_name() + "@localhost");
}

TEST_CASE("mysql: each statement has its answer, rows with NULL, or counts") {
  MySession my = session(maria().url());
  const auto rows =
      my.run({{"CREATE OR REPLACE TABLE counts (id INT PRIMARY KEY AUTO_INCREMENT, n INT)"},
              {"INSERT INTO counts (n) VALUES (5), (6)"},
              {"UPDATE counts SET n = 6 WHERE n >= 5"},
              {"UPDATE counts SET n = n + 100 WHERE n = 7"},
              {"UPDATE counts SET n = n + 100 WHERE id = 1"},
              {"SELECT id, NULL AS nothing, '' AS empty FROM counts ORDER BY id"},
              {"SELECT 1 AS one FROM counts WHERE id = 99"}},
             ample());
  REQUIRE(rows.has_value());
  REQUIRE(rows->size() == 7);
  CHECK((*rows)[1].affected == 2);
  CHECK((*rows)[2].affected == 2);  // one of them had this value
  CHECK((*rows)[3].affected == 0);
  CHECK((*rows)[4].affected == 1);
  REQUIRE((*rows)[5].rows.size() == 2);
  CHECK((*rows)[5].rows[0] == std::vector<sql::Value>{"1", {}, ""});
  CHECK((*rows)[6].rows.empty());
}

TEST_CASE("mysql: a transaction with an error in the middle is undone, and the error is its own") {
  MySession my = session(maria().url());
  must(my, {"CREATE OR REPLACE TABLE pairs (n INT PRIMARY KEY)"});
  must(my, {"START TRANSACTION", "INSERT INTO pairs VALUES (1)", "COMMIT"});
  const auto rows = my.run({{"START TRANSACTION"},
                            {"INSERT INTO pairs VALUES (2)"},
                            {"INSERT INTO pairs VALUES (1)"},
                            {"INSERT INTO pairs VALUES (3)"},
                            {"COMMIT"}},
                           ample());
  REQUIRE_FALSE(rows.has_value());
  CHECK(rows.error().code == Errc::refused);
  CHECK(my.server_errno() == 1062);
  CHECK(has(rows.error().text, "Duplicate entry"));
  CHECK_FALSE(my.connected());
  CHECK(value_of(my, "SELECT GROUP_CONCAT(n) FROM pairs") == "1");
}

TEST_CASE("mysql: hostile text comes back as it was, and text finds its row by the index") {
  MySession my = session(maria().url());
  must(my, {"CREATE OR REPLACE TABLE texts (name VARCHAR(100) COLLATE utf8mb4_bin PRIMARY KEY)"});
  std::string bytes;
  for (int i = 0; i < 256; ++i)
    bytes += static_cast<char>(i);
  for (const std::string& text : {std::string("a'b\"c`d\\e\\"),
                                  std::string("\0 %_\n;--", 8),
                                  std::string("\xe2\x82\xac \xf0\x9f\x94\x92"),
                                  std::string(),
                                  std::string("'; DROP TABLE texts; -- ")}) {
    CHECK(value_of(my, "SELECT " + MySession::quoted(text)) == text);
    must(my, {"INSERT INTO texts VALUES (" + MySession::quoted(text) + ")"});
    CHECK(value_of(my, "SELECT name FROM texts WHERE name = " + MySession::quoted(text)) == text);
  }
  CHECK(value_of(my, "SELECT " + MySession::quoted(bytes)) == bytes);
  CHECK(value_of(my, "SELECT " + MySession::quoted("\xc0\x80\xed\xa0\x80")) ==
        "\xc0\x80\xed\xa0\x80");
  const auto plan =
      my.run({{"EXPLAIN SELECT 1 FROM texts WHERE name = " + MySession::quoted("")}}, ample());
  REQUIRE(plan.has_value());
  CHECK(plan->front().rows.front()[3] == "const");
}

TEST_CASE("mysql: a missing table, a missing database and a read-only server are told apart") {
  MySession my = session(maria().url());
  CHECK(failure_of(my, "SELECT 1 FROM nowhere").code == Errc::refused);
  CHECK(my.cause() == sql::Cause::no_table);
  CHECK(my.server_errno() == 1146);
  MySession lost = session("mysql://root@/nowhere?socket=" + maria().socket());
  CHECK(failure_of(lost, "SELECT 1").code == Errc::refused);
  CHECK(lost.server_errno() == 1049);
  must(my, {"CREATE OR REPLACE TABLE writes (n INT)", "SET GLOBAL read_only = 1"});
  MySession ann = session(maria().tcp_url());
  CHECK(failure_of(ann, "INSERT INTO writes VALUES (1)").code == Errc::refused);
  CHECK(ann.server_errno() == 1290);
  must(my, {"SET GLOBAL read_only = 0"});
  must(ann, {"INSERT INTO writes VALUES (1)"});
}

TEST_CASE("mysql: a deadlock and a wait for a row may be repeated") {
  MySession one = session(maria().url());
  MySession two = session(maria().url());
  must(one,
       {"CREATE OR REPLACE TABLE locked (id INT PRIMARY KEY, n INT)",
        "INSERT INTO locked VALUES (1, 0), (2, 0)"});
  must(one, {"START TRANSACTION", "UPDATE locked SET n = 1 WHERE id = 1"});
  CHECK(failure_of(two, "UPDATE locked SET n = 2 WHERE id = 1").code == Errc::unavailable);
  CHECK(two.cause() == sql::Cause::repeat);
  CHECK(two.server_errno() == 1205);

  must(two, {"START TRANSACTION", "UPDATE locked SET n = 2 WHERE id = 2"});
  sql::Cause of_one = sql::Cause::other;
  std::thread thread([&] {
    const auto rows = one.run({{"UPDATE locked SET n = 1 WHERE id = 2"}, {"COMMIT"}}, ample());
    of_one = one.cause();
  });
  const auto rows = two.run({{"UPDATE locked SET n = 2 WHERE id = 1"}, {"COMMIT"}}, ample());
  thread.join();
  // Exactly one of them is the victim.
  CHECK((of_one == sql::Cause::repeat) != (two.cause() == sql::Cause::repeat));
  MySession& victim = rows ? one : two;
  CHECK(victim.server_errno() == 1213);
}

TEST_CASE("mysql: too many connections are no reason to give up") {
  MySession root = session(maria().url());
  must(root, {"SET GLOBAL max_connections = 10"});
  for (const char* const mode : {"disabled", "required"}) {
    std::vector<std::unique_ptr<MySession>> sessions;
    for (int i = 0; i < 15; ++i) {
      auto address = parse_my_url(maria().tcp_url() + "?ssl-mode=" + mode);
      REQUIRE(address.has_value());
      auto& my = sessions.emplace_back(std::make_unique<MySession>(*address, nullptr));
      if (const auto rows = my->run({{"SELECT 1"}}, ample()); !rows) {
        CHECK(rows.error().code == Errc::unavailable);
        break;
      }
    }
    CHECK(sessions.back()->server_errno() == 1040);
  }
  must(root, {"SET GLOBAL max_connections = 151"});
}

TEST_CASE("mysql: a call ends at its limit, and the next one has a connection of its own") {
  MySession my = session(maria().url());
  must(my, {"SELECT 1"});
  const auto id = my.connection_id();
  const Error error = failure_of(my, "SELECT SLEEP(20)", soon());
  CHECK(error.code == Errc::timed_out);
  CHECK(has(error.text, "no answer from " + my.where() + " within"));
  CHECK(my.server_errno() == 0);
  CHECK_FALSE(my.connected());
  CHECK(value_of(my, "SELECT 2") == "2");
  CHECK(my.connection_id() != id);
}

TEST_CASE("mysql: an interrupt ends a call") {
  const WakeUp stop;
  MySession my = session(maria().url(), &stop);
  must(my, {"SELECT 1"});
  std::thread thread([&] {
    ::poll(nullptr, 0, 50);
    stop.raise();
  });
  const Error error = failure_of(my, "SELECT SLEEP(20)");
  thread.join();
  CHECK(error.code == Errc::cancelled);
  CHECK(error.text == "stopped waiting for " + my.where());
  CHECK_FALSE(my.connected());
  stop.clear();
  CHECK(value_of(my, "SELECT 2") == "2");
}

TEST_CASE("mysql: the time of sending is before the statement, and not before the login") {
  MySession my = session(maria().url());
  must(my, {"SELECT SLEEP(0.05)"});
  CHECK(BootClock::now() - my.sent_at() >= std::chrono::milliseconds(50));
  const Time first = my.sent_at();
  must(my, {"SELECT 1"});
  CHECK(my.sent_at() > first);
}

TEST_CASE("mysql: a connection that the server ended while it was idle is replaced") {
  MySession my = session(maria().url());
  must(my, {"SELECT 1"});
  MySession root = session(maria().url());
  must(root, {"KILL " + std::to_string(my.connection_id())});
  ::poll(nullptr, 0, 100);
  CHECK(value_of(my, "SELECT 2") == "2");
}

TEST_CASE("mysql: a connection that ended in a transaction is an error, and nothing more is done") {
  MySession my = session(maria().url());
  MySession root = session(maria().url());
  must(root, {"CREATE TABLE IF NOT EXISTS half (n int) ENGINE = InnoDB", "DELETE FROM half"});
  must(my, {"START TRANSACTION", "SELECT n FROM half FOR UPDATE"});
  must(root, {"KILL " + std::to_string(my.connection_id())});
  ::poll(nullptr, 0, 100);
  const auto rest = my.run({{"INSERT INTO half VALUES (1)"}}, ample());
  REQUIRE_FALSE(rest.has_value());
  CHECK(rest.error().code == Errc::unavailable);
  CHECK(has(rest.error().text, "in a transaction"));
  CHECK(value_of(root, "SELECT count(*) FROM half") == "0");
}

TEST_CASE("mysql: a server killed in the middle is an error, and found again when it is back") {
  const auto server = MysqlProcess::start();
  REQUIRE(server.has_value());
  MySession my = session((*server)->url());
  must(my, {"SELECT 1"});
  std::thread thread([&] {
    ::poll(nullptr, 0, 100);
    (*server)->kill();
  });
  const Error error = failure_of(my, "SELECT SLEEP(20)");
  thread.join();
  CHECK(error.code == Errc::unavailable);
  CHECK(error.text == "lost the connection to " + my.where() + ": closed the connection");
  CHECK(my.server_errno() == 0);
  CHECK(failure_of(my, "SELECT 1").code == Errc::not_listening);
  REQUIRE((*server)->restart().has_value());
  CHECK(value_of(my, "SELECT 2") == "2");
}

TEST_CASE("mysql: a host that is unknown and a port without a server are named") {
  MySession nowhere = session("mysql://ann@nowhere.invalid/locks?ssl-mode=disabled");
  const Error unknown = failure_of(nowhere, "SELECT 1");
  CHECK((unknown.code == Errc::no_such_host || unknown.code == Errc::unavailable));
  CHECK(has(unknown.text, "cannot reach mysql://nowhere.invalid:3306/locks"));
  const test::DeafPort deaf;
  MySession refused = session("mysql://ann@127.0.0.1:" + std::to_string(deaf.port) + "/locks");
  const Error error = failure_of(refused, "SELECT 1");
  CHECK(error.code == Errc::not_listening);
  CHECK(error.text == "cannot reach " + refused.where() + ": connection refused");
}

TEST_CASE("mysql: a silent server is given up at the limit, in each stage") {
  const FakePeer peer;
  const std::string at = "mysql://ann@127.0.0.1:" + std::to_string(peer.port()) + "/locks";
  for (const std::string& url : {at, at + "?ssl-mode=required"}) {
    MySession my = session(url);
    const Time limit = soon();
    CHECK(failure_of(my, "SELECT 1", limit).code == Errc::timed_out);
    CHECK(BootClock::now() < limit + std::chrono::seconds(1));
  }
}

TEST_CASE("mysql: a server that is none is said so") {
  for (const char* const mode : {"disabled", "required"}) {
    const FakePeer peer;
    std::thread thread([&] {
      const UniqueFd client = peer.accept();
      test::write_all(client, "HTTP/1.1 400 Bad Request\r\n\r\n");
      test::read_until(client, "");
    });
    MySession my =
        session("mysql://ann@127.0.0.1:" + std::to_string(peer.port()) + "/locks?ssl-mode=" + mode);
    const Time limit = BootClock::now() + std::chrono::seconds(1);
    const Error error = failure_of(my, "SELECT 1", limit);
    my.disconnect();
    thread.join();
    CAPTURE(error.text);
    CHECK(error.code == Errc::protocol);
    CHECK(has(error.text, my.where()));
  }
}

TEST_CASE("mysql: TLS with chain and name, without the name, and without either") {
  TlsSettings trusted;
  trusted.cacert = maria().certificate();
  MySession verified = session(maria().tcp_url() + "?ssl-mode=verify_identity", nullptr, trusted);
  must(
      verified,
      {"CREATE OR REPLACE TABLE big (t LONGTEXT)", "INSERT INTO big VALUES (REPEAT('x', 100000))"});
  CHECK(value_of(verified, "SELECT t FROM big") == std::string(100'000, 'x'));

  TlsSettings renamed = trusted;
  renamed.sni = "db.example.org";
  MySession other = session(maria().tcp_url() + "?ssl-mode=verify_identity", nullptr, renamed);
  const Error error = failure_of(other, "SELECT 1");
  CHECK(error.code == Errc::protocol);
  CHECK(has(error.text, "its certificate is for 127.0.0.1, not for \"db.example.org\""));
  MySession chain = session(maria().tcp_url() + "?ssl-mode=verify_ca", nullptr, renamed);
  must(chain, {"SELECT 1"});

  MySession untrusted = session(maria().tcp_url() + "?ssl-mode=verify_ca");
  CHECK(failure_of(untrusted, "SELECT 1").code == Errc::protocol);
  MySession any = session(maria().tcp_url() + "?ssl-mode=required");
  const auto rows = any.run({{"SHOW STATUS LIKE 'Ssl_version'"}}, ample());
  REQUIRE(rows.has_value());
  CHECK(has(rows->front().rows.front()[1].value_or(""), "TLSv1."));
}

TEST_CASE("mysql: a wrong password is denied also by TLS") {
  MySession my = session(maria().tcp_url("ann:wr0ng@") + "?ssl-mode=required");
  CHECK(failure_of(my, "SELECT 1").code == Errc::denied);
  CHECK(my.server_errno() == 1045);
}

}  // namespace
}  // namespace dlock
