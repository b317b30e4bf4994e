// SPDX-License-Identifier: MIT
// The meaning of the error numbers of MariaDB and MySQL for dlock.
// https://mariadb.com/kb/en/mariadb-error-codes/
#pragma once

#include "base/result.hpp"
#include "store/sql/statement.hpp"

#include <string_view>

namespace dlock {

struct MyMeaning {
  Errc code = Errc::refused;  // or bad_usage, denied, unavailable
  sql::Cause cause = sql::Cause::other;
  std::string_view hint = {};  // advice that follows the server's message
};

MyMeaning meaning_of(unsigned int number);

}  // namespace dlock
