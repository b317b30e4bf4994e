// SPDX-License-Identifier: MIT
// Whether a connection still answers, asked without ending or replacing it.
#include "store/mysql/my_session.hpp"
#include "sys/wake_up.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>

#include <csignal>
#include <string>
#include <utility>

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

void must(MySession& my, const std::string& statement) {
  const auto rows = my.run({statement}, ample());
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
  REQUIRE(::waitpid(maria().pid(), nullptr, WUNTRACED) >
          0);  // its threads stop one after the other
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

}  // namespace
}  // namespace dlock
