// SPDX-License-Identifier: MIT
// The meaning of PostgreSQL's errors for dlock. The server's errors are recognized by their
// SQLSTATE, which is the same in every language and version; errors of libpq, if no connection was
// made, by libpq's text. Pure.
//
// If the server answers with an error, it has rolled back the transaction. So after Errc::denied
// and refused nothing was done. After unavailable and timed_out the outcome is unknown, unless the
// cause is `repeat`: the server may have ended during a commit.
#pragma once

#include "base/result.hpp"
#include "store/sql/statement.hpp"

#include <string>
#include <string_view>

namespace dlock {

struct PgMeaning {
  Errc code = Errc::refused;  // bad_usage, denied, unavailable, timed_out or refused
  sql::Cause cause = sql::Cause::other;
  bool replica = false;  // this server may not write, but another one in the URL may
  std::string_view hint = {};
};

PgMeaning classify_sqlstate(std::string_view state);

// Why there is no connection.
struct PgNoConnection {
  Errc code = Errc::unavailable;
  std::string sqlstate = {};   // empty: the server gave none
  bool by_server = false;      // `reason` is the text of the server
  bool replica = false;        // this server may not write
  std::string reason = {};     // one line, printable
  std::string_view hint = {};  // advice after the reason
};

// Returns the reason in `said`, the PQerrorMessage() of a connection with PQERRORS_VERBOSE.
PgNoConnection read_connect_error(std::string_view said);

// Returns the first line of libpq's text, in a form for the middle of a sentence.
std::string reason_of(std::string_view said);

}  // namespace dlock
