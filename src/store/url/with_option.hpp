// SPDX-License-Identifier: MIT
// Parses the option `?with=` of a URL. It names a lock of other programs that dlock holds together
// with its own row (beside_store.hpp). The forms are row:TABLE.COLUMN, advisory, advisory:NUMBER
// and get_lock; each kind of server has some of these.
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
  std::string table;                // for the form row: the table
  std::string column;               // for the form row: the column with the names of locks
  std::optional<std::int64_t> key;  // for the form advisory: one number that stands for all names

  std::string text() const;  // the option's value as it is written in a URL
};

// The forms that one kind of server has, and how its identifiers are written.
struct WithForms {
  std::string_view all;  // list of the forms, for the error
  bool advisory = false;
  bool get_lock = false;
  bool (*is_table)(std::string_view) = nullptr;
  bool (*is_column)(std::string_view) = nullptr;
};

// Returns the error (Errc::bad_config) that the table has no row for this name. The text has the
// statement that inserts the row.
Error no_row(const WithOption& with, const std::string& where, std::string_view name);

// Parses the value of `?with=`. Errc::bad_usage: the value has no form that this server has; the
// text lists the forms.
Result<WithOption> parse_with(std::string_view value, const WithForms& forms);

}  // namespace dlock
