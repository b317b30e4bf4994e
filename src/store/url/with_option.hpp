// SPDX-License-Identifier: MIT
// The option `?with=` of a URL: which lock of another program is held beside the lease row
// (beside_store.hpp). Its forms: row:TABLE.COLUMN, advisory, advisory:NUMBER, get_lock; each kind
// of server has some of them.
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
  std::string table;                // of a row …
  std::string column;               // … which has the name of the lock there
  std::optional<std::int64_t> key;  // for advisory: one key for all names

  std::string text() const;  // as in a URL
};

// The forms that a server has, and the syntax of its identifiers.
struct WithForms {
  std::string_view all;  // for the error
  bool advisory = false;
  bool get_lock = false;
  bool (*is_table)(std::string_view) = nullptr;
  bool (*is_column)(std::string_view) = nullptr;
};

// Errc::bad_config, with the statement that makes the row of this name.
Error no_row(const WithOption& with, const std::string& where, std::string_view name);

// Errc::bad_usage, with the forms.
Result<WithOption> parse_with(std::string_view value, const WithForms& forms);

}  // namespace dlock
