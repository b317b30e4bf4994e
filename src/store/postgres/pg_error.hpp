// SPDX-License-Identifier: MIT
// What an error of PostgreSQL means to dlock: by its SQLSTATE, which is the same in every language
// and version, or without a state (no connection was made) by libpq's words. Pure.
//
// An error that the server answered has undone its transaction. So Errc::denied and refused did
// nothing; unavailable and timed_out may come from a server that ended during a commit and say
// nothing about the outcome, unless the cause is `repeat`.
#pragma once

#include "base/result.hpp"
#include "store/sql/statement.hpp"

#include <string>
#include <string_view>

namespace dlock {

struct PgMeaning {
  Errc code = Errc::refused;  // bad_usage, denied, unavailable, timed_out or refused
  sql::Cause cause = sql::Cause::other;
  bool replica = false;  // the server may not write: another server of a set may
  std::string_view hint = {};
};

PgMeaning classify_sqlstate(std::string_view state);

// Why there is no connection.
struct PgNoConnection {
  Errc code = Errc::unavailable;
  std::string sqlstate = {};   // empty: the server did not say it
  bool by_server = false;      // `reason` is the server's
  bool replica = false;        // as above
  std::string reason = {};     // one line, printable
  std::string_view hint = {};  // advice after the reason
};

// `said` is PQerrorMessage() at PQERRORS_VERBOSE.
PgNoConnection read_connect_error(std::string_view said);

// The first line of what libpq says, for the middle of a sentence.
std::string reason_of(std::string_view said);

}  // namespace dlock
