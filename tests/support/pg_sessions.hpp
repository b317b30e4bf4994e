// SPDX-License-Identifier: MIT
// Helpers for tests of PgSession: one server, sessions with it, and runs that must succeed or must
// fail.
#pragma once

#include "store/postgres/pg_session.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/fake_peer.hpp"
#include "support/postgres_process.hpp"

namespace dlock::test {

// Returns the server for all cases; the first call starts it.
inline PostgresProcess& server() {
  static const auto shared = PostgresProcess::create();
  CAPTURE((shared ? "" : shared.error().text));
  REQUIRE(shared.has_value());
  return **shared;
}

inline PgSession session_of(const std::string& url,
                            const Interrupt* interrupt = nullptr,
                            const TlsSettings& tls = {}) {
  auto address = parse_pg_url(url);
  CAPTURE((address ? "" : address.error().text));
  REQUIRE(address.has_value());
  return {std::move(*address), tls, interrupt};
}
inline PgSession session() {
  return session_of(server().socket_url());
}

inline std::vector<sql::Answer> done(PgSession& session,
                                     const std::vector<sql::Statement>& statements) {
  auto answers = session.run(statements, ample());
  CAPTURE((answers ? "" : answers.error().text));
  REQUIRE(answers.has_value());
  return std::move(*answers);
}

inline Error failed(PgSession& session, const std::vector<sql::Statement>& statements, Time limit) {
  const auto answers = session.run(statements, limit);
  REQUIRE_FALSE(answers.has_value());
  return answers.error();
}
inline Error failed(PgSession& session, const std::vector<sql::Statement>& statements) {
  return failed(session, statements, ample());
}

inline std::string one_value(PgSession& session, const std::string& statement) {
  const auto answers = done(session, {{statement}});
  REQUIRE(answers.front().rows.size() == 1);
  return answers.front().rows.front().front().value_or("null");
}

}  // namespace dlock::test
