// SPDX-License-Identifier: MIT
// What the error numbers of MariaDB and MySQL mean to dlock.
// https://mariadb.com/kb/en/mariadb-error-codes/
#pragma once

#include "base/result.hpp"

#include <string_view>

namespace dlock {

// The faults that a store reacts to.
enum class MyFault {
  none,
  repeat,       // a deadlock or a wait for a row: undone, may be repeated
  no_table,     // 1146
  no_column,    // 1054
  no_database,  // 1049
  read_only,    // a replica, or a server set to read-only
  other,
};

struct MyMeaning {
  Errc code = Errc::refused;  // or bad_usage, denied, unavailable
  MyFault fault = MyFault::other;
  std::string_view hint = {};  // advice after the server's words
};

MyMeaning meaning_of(unsigned int number);

}  // namespace dlock
