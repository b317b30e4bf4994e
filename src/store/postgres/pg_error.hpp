// SPDX-License-Identifier: MIT
// Translates PostgreSQL's errors into what they mean for dlock. An error of the server is
// recognized by its SQLSTATE, which is the same in every language and version. An error of libpq,
// when no connection could be made, is recognized by libpq's text. Pure.
//
// If the server answers with an error, it has rolled back the transaction. So after Errc::denied
// and Errc::refused nothing was done. After Errc::unavailable and Errc::timed_out the outcome is
// unknown, because the server may have stopped during a commit. It is known again if the cause is
// `repeat`: nothing was done.
#pragma once

#include "base/result.hpp"
#include "store/sql/statement.hpp"

#include <string>
#include <string_view>

namespace dlock {

struct PgMeaning {
  Errc code = Errc::refused;  // bad_usage, denied, unavailable, timed_out or refused
  sql::Cause cause = sql::Cause::other;
  bool replica = false;  // this server may not write, but another server in the URL may
  std::string_view hint = {};
};

PgMeaning classify_sqlstate(std::string_view state);

// Why a connection could not be made.
struct PgNoConnection {
  Errc code = Errc::unavailable;
  std::string sqlstate = {};   // empty: the server has sent none
  bool by_server = false;      // whether `reason` is a text of the server
  bool replica = false;        // this server may not write
  std::string reason = {};     // one printable line
  std::string_view hint = {};  // advice, printed after the reason
  Reach reach = Reach::nothing;
};

// Returns the reason from `said`, which is PQerrorMessage() of a connection with PQERRORS_VERBOSE.
PgNoConnection read_connect_error(std::string_view said);

// Returns the reason in the first line of libpq's text, in a form for the middle of a sentence.
std::string reason_of(std::string_view said);

}  // namespace dlock
