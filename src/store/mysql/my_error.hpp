// SPDX-License-Identifier: MIT
// Translates the error numbers of MariaDB and MySQL into what they mean for dlock.
// https://mariadb.com/kb/en/mariadb-error-codes/
#pragma once

#include "base/result.hpp"
#include "store/sql/statement.hpp"

#include <string_view>

namespace dlock {

struct MyMeaning {
  Errc code = Errc::refused;  // refused, bad_usage, denied or unavailable
  sql::Cause cause = sql::Cause::other;
  std::string_view hint = {};  // advice, printed after the server's message
};

MyMeaning meaning_of(unsigned int number);

}  // namespace dlock
