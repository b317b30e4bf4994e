// SPDX-License-Identifier: MIT
// What the error numbers of MariaDB and MySQL mean to dlock.
// https://mariadb.com/kb/en/mariadb-error-codes/
#pragma once

#include "base/result.hpp"
#include "store/sql/statement.hpp"

#include <string_view>

namespace dlock {

struct MyMeaning {
  Errc code = Errc::refused;  // or bad_usage, denied, unavailable
  sql::Cause cause = sql::Cause::other;
  std::string_view hint = {};  // advice after the server's words
};

MyMeaning meaning_of(unsigned int number);

}  // namespace dlock
