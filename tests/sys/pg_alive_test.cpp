// SPDX-License-Identifier: MIT
// ask_alive(): asks whether a connection still answers, without ending or replacing it.
#include "store/postgres/pg_session.hpp"
#include "sys/wake_up.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <string>

#include "support/fake_peer.hpp"
#include "support/has.hpp"
#include "support/pg_sessions.hpp"

namespace dlock {
namespace {

using test::ample;
using test::done;
using test::has;
using test::one_value;
using test::server;
using test::session;
using test::session_of;
using test::soon;

TEST_CASE("pg alive: a connection that answers stays, with its transaction") {
  PgSession one = session();
  CHECK(one.ask_alive(ample()).error().code == Errc::unavailable);  // there was none
  CHECK_FALSE(one.connected());
  done(one, {{"begin"}, {"create temp table t (v int) on commit drop"}});
  const int pid = one.backend_pid();
  for (int i = 0; i < 3; ++i)
    CHECK(one.ask_alive(ample()).has_value());
  CHECK(one_value(one, "select count(*) from t") == "0");
  CHECK(one.ask_alive(ample()).has_value());
  done(one, {{"commit"}});
  CHECK(one.ask_alive(ample()).has_value());
  CHECK(one.backend_pid() == pid);
}

TEST_CASE("pg alive: an answer that is late, or was not waited for, is taken by the next call") {
  WakeUp stop;
  PgSession one = session_of(server().socket_url(), &stop);
  done(one, {{"begin"}});
  const int pid = one.backend_pid();
  REQUIRE(::kill(pid, SIGSTOP) == 0);
  for (int i = 0; i < 3; ++i)
    CHECK(one.ask_alive(soon()).error().code == Errc::timed_out);
  stop.raise();
  CHECK(one.ask_alive(ample()).error().code == Errc::cancelled);
  stop.clear();
  CHECK(one.connected());
  CHECK(one.owes_sign());
  REQUIRE(::kill(pid, SIGCONT) == 0);
  CHECK(one.ask_alive(ample()).has_value());
  CHECK_FALSE(one.owes_sign());
  CHECK(one_value(one, "select pg_backend_pid()") == std::to_string(pid));
}

TEST_CASE("pg alive: a connection that the server has ended is gone, and is not replaced") {
  PgSession one = session();
  PgSession other = session();
  for (const bool asked : {false, true}) {
    CAPTURE(asked);
    done(one, {{"begin"}});
    const std::string pid = std::to_string(one.backend_pid());
    if (asked) CHECK(one.ask_alive(ample()).has_value());
    done(other, {{"select pg_terminate_backend($1::int, 5000)", {pid}}});
    const auto gone = one.ask_alive(ample());
    REQUIRE_FALSE(gone.has_value());
    CHECK(gone.error().code == Errc::unavailable);
    CHECK(has(gone.error().text, one.where()));
    CHECK(one.ask_alive(ample()).error().code == Errc::unavailable);
    CHECK_FALSE(one.connected());
  }
}

}  // namespace
}  // namespace dlock
