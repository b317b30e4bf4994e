// SPDX-License-Identifier: MIT
// The option `?with=` of a URL: the lock of another program that is held together with the lease
// row (beside_store.hpp). Its forms are row:TABLE.COLUMN, advisory, advisory:NUMBER and get_lock;
// each kind of server has some of them.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlock {

struct WithOption {
  enum class Kind { row, advisory, get_lock };
  Kind kind = Kind::row;
  std::string table;                // for row: the table
  std::string column;               // for row: the column that contains the lock's name
  std::optional<std::int64_t> key;  // for advisory: one key for all names

  std::string text() const;  // in the form of the URL
};

// The forms that a server supports, and the syntax of its identifiers.
struct WithForms {
  std::string_view all;  // list of the forms, for the error
  bool advisory = false;
  bool get_lock = false;
  bool (*is_table)(std::string_view) = nullptr;
  bool (*is_column)(std::string_view) = nullptr;
};

// Returns Errc::bad_config, with the statement that makes the row for this name.
Error no_row(const WithOption& with, const std::string& where, std::string_view name);

// Parses the value of `?with=`. Errc::bad_usage: it has another form; the text lists the forms.
Result<WithOption> parse_with(std::string_view value, const WithForms& forms);

}  // namespace dlock
