// SPDX-License-Identifier: MIT
#include "store/postgres/pg_error.hpp"

#include <doctest/doctest.h>

namespace dlock {
namespace {

TEST_CASE("pg error: the state decides, a class where there is no rule for the state") {
  CHECK(classify_sqlstate("28P01").code == Errc::denied);
  CHECK(classify_sqlstate("28000").code == Errc::denied);
  CHECK(classify_sqlstate("42501").code == Errc::denied);
  CHECK(classify_sqlstate("42601").code == Errc::refused);
  CHECK(classify_sqlstate("25006").code == Errc::refused);
  CHECK(classify_sqlstate("25006").replica);
  for (const char* const now : {"57P01", "57P03", "53300", "53100", "08006", "55P03", "40003"}) {
    CAPTURE(now);
    CHECK(classify_sqlstate(now).code == Errc::unavailable);
    CHECK(classify_sqlstate(now).cause == sql::Cause::other);
  }
  CHECK(classify_sqlstate("57014").code == Errc::timed_out);
  CHECK(classify_sqlstate("40001").cause == sql::Cause::repeat);
  CHECK(classify_sqlstate("40P01").cause == sql::Cause::repeat);
  CHECK(classify_sqlstate("42P01").cause == sql::Cause::no_table);
  CHECK(classify_sqlstate("").code == Errc::refused);
}

TEST_CASE("pg error: a server that refuses a connection says its state") {
  const auto said = read_connect_error(
      "connection to server at \"127.0.0.1\", port 5432 failed: FATAL:  28P01: password "
      "authentication failed for user \"ann\"\nLOCATION:  auth_failed, auth.c:335\n");
  CHECK(said.code == Errc::denied);
  CHECK(said.sqlstate == "28P01");
  CHECK(said.by_server);
  CHECK(said.reason == "password authentication failed for user \"ann\"");
  // In another language of the server.
  CHECK(read_connect_error("… failed: FATAL:  57P03: das Datenbanksystem startet\n").code ==
        Errc::unavailable);
}

TEST_CASE("pg error: what libpq says of the way to a server") {
  const auto refused = read_connect_error(
      "connection to server on socket \"/s/.s.PGSQL.5432\" failed: No such file or directory\n"
      "\tIs the server running locally and accepting connections on that socket?\n");
  CHECK(refused.code == Errc::not_listening);
  CHECK(refused.reason == "no such file or directory");
  CHECK_FALSE(refused.by_server);
  CHECK(read_connect_error("connection to … failed: Permission denied\n").code == Errc::denied);
  CHECK(read_connect_error("connection to … failed: No route to host\n").code == Errc::unavailable);
  const auto closed = read_connect_error(
      "connection to … failed: server closed the connection unexpectedly\n\tThis probably means");
  CHECK(closed.code == Errc::unavailable);
  CHECK(closed.reason == "closed the connection");
  CHECK(read_connect_error("could not open certificate file \"/c\": No such file or directory\n")
            .code == Errc::bad_config);
  CHECK(read_connect_error("").code == Errc::unavailable);
  CHECK(read_connect_error("failed: Something\x1b[2J new\n").reason == "something\\x1b[2J new");
}

}  // namespace
}  // namespace dlock
