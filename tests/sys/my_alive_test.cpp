// SPDX-License-Identifier: MIT
// ask_alive(): asks whether a connection still answers, without ending or replacing it. And: what a
// session does if its connection is kept after an error, or is replaced.
#include "store/mysql/my_session.hpp"
#include "sys/wake_up.hpp"

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/wait.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "support/fake_peer.hpp"
#include "support/has.hpp"
#include "support/mysql_process.hpp"

namespace dlock {
namespace {

using test::ample;
using test::has;
using test::MysqlProcess;
using test::soon;

MysqlProcess& maria() {
  static const auto server = MysqlProcess::start();
  REQUIRE(server.has_value());
  return **server;
}

MySession session(const Interrupt* interrupt = nullptr) {
  auto address = parse_my_url(maria().url());
  REQUIRE(address.has_value());
  return {std::move(*address), interrupt};
}

sql::Value value_of(MySession& my, const std::string& statement) {
  const auto rows = my.run({{statement}}, ample());
  if (!rows) FAIL(rows.error().text);
  REQUIRE(rows->front().rows.size() == 1);
  return rows->front().rows.front().front();
}

void must(MySession& my, const std::string& statement) {
  const auto rows = my.run({{statement}}, ample());
  if (!rows) FAIL(rows.error().text);
}

TEST_CASE("mysql alive: a connection that answers stays, and its statements go on") {
  MySession one = session();
  CHECK(one.ask_alive(ample()).error().code == Errc::unavailable);  // there was none
  CHECK_FALSE(one.connected());
  must(one, "select get_lock('stays', 0)");
  const unsigned long id = one.connection_id();
  for (int i = 0; i < 3; ++i) {
    CHECK(one.ask_alive(ample()).has_value());
    must(one, "select 1");
  }
  CHECK(one.connection_id() == id);
}

TEST_CASE("mysql alive: an answer that is late, or was not waited for, is taken by the next call") {
  WakeUp stop;
  MySession one = session(&stop);
  must(one, "select get_lock('late', 0)");
  const unsigned long id = one.connection_id();
  REQUIRE(::kill(maria().pid(), SIGSTOP) == 0);
  // Its threads stop one after the other.
  REQUIRE(::waitpid(maria().pid(), nullptr, WUNTRACED) > 0);
  for (int i = 0; i < 3; ++i)
    CHECK(one.ask_alive(soon()).error().code == Errc::timed_out);
  stop.raise();
  CHECK(one.ask_alive(ample()).error().code == Errc::cancelled);
  stop.clear();
  CHECK(one.connected());
  CHECK(one.owes_sign());
  REQUIRE(::kill(maria().pid(), SIGCONT) == 0);
  CHECK(one.ask_alive(ample()).has_value());
  CHECK_FALSE(one.owes_sign());
  must(one, "select 1");
  CHECK(one.connection_id() == id);
}

TEST_CASE("mysql alive: a connection that the server has ended is gone, and is not replaced") {
  MySession one = session();
  MySession other = session();
  must(one, "select 1");
  must(other, "kill " + std::to_string(one.connection_id()));
  const auto gone = one.ask_alive(ample());
  REQUIRE_FALSE(gone.has_value());
  CHECK(has(gone.error().text, one.where()));
  CHECK_FALSE(one.connected());
  CHECK(one.ask_alive(ample()).error().code == Errc::unavailable);
  CHECK_FALSE(one.connected());
}

TEST_CASE("mysql: a collision costs no connection, and leaves no row locked") {
  MySession one = session();
  MySession two = session();
  must(one, "CREATE OR REPLACE TABLE locked (id INT PRIMARY KEY)");
  must(one, "INSERT INTO locked VALUES (1)");
  must(one, "START TRANSACTION");
  must(one, "SELECT id FROM locked WHERE id = 1 FOR UPDATE");
  must(two, "INSERT INTO locked VALUES (2)");
  const auto id = two.connection_id();
  const std::vector<sql::Statement> both{{"START TRANSACTION"},
                                         {"SELECT id FROM locked WHERE id = 2 FOR UPDATE"},
                                         {"SELECT id FROM locked WHERE id = 1 FOR UPDATE NOWAIT"}};
  REQUIRE_FALSE(two.run(both, ample()).has_value());
  CHECK(two.cause() == sql::Cause::repeat);
  CHECK(two.connected());
  must(one, "SELECT id FROM locked WHERE id = 2 FOR UPDATE NOWAIT");
  must(one, "COMMIT");
  must(two, "SELECT id FROM locked WHERE id = 1 FOR UPDATE NOWAIT");
  CHECK(two.connection_id() == id);
}

TEST_CASE("mysql: a session is as it promises on each of its connections") {
  MySession root = session();
  must(root, "SET GLOBAL autocommit = 0, GLOBAL sql_mode = 'NO_BACKSLASH_ESCAPES'");
  MySession my = session();
  must(my, "SELECT 1");
  my.disconnect();
  CHECK(value_of(my, "SELECT @@autocommit") == "1");
  CHECK(value_of(my, "SELECT @@sql_mode") == "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION");
  CHECK(value_of(my, "SELECT @@tx_isolation") == "READ-COMMITTED");
  must(root, "KILL " + std::to_string(my.connection_id()));
  ::poll(nullptr, 0, 100);
  CHECK(value_of(my, "SELECT @@tx_isolation") == "READ-COMMITTED");
  must(root, "SET GLOBAL autocommit = DEFAULT, GLOBAL sql_mode = DEFAULT");
}

}  // namespace
}  // namespace dlock
