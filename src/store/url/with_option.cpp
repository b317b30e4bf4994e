// SPDX-License-Identifier: MIT
#include "store/url/with_option.hpp"

#include "base/text.hpp"

#include <charconv>

namespace dlock {
namespace {

constexpr std::string_view k_row = "row:";
constexpr std::string_view k_advisory = "advisory";
constexpr std::string_view k_get_lock = "get_lock";

Error bad_with(const WithForms& forms) {
  return {Errc::bad_usage, "with= is " + std::string(forms.all)};
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string WithOption::text() const {
  switch (kind) {
    case Kind::row:
      return std::string(k_row) + table + "." + column;
    case Kind::advisory:
      return std::string(k_advisory) + (key ? ":" + std::to_string(*key) : "");
    case Kind::get_lock:
      break;
  }
  return std::string(k_get_lock);
}

Error no_row(const WithOption& with, const std::string& where, std::string_view name) {
  std::string literal;
  for (const char c : name)
    literal += c == '\'' ? "''" : std::string(1, c);
  return {Errc::bad_config,
          where + " has no row of this lock: insert into " + with.table + " (" + with.column +
              ") values ('" + printable(literal) + "')"};
}

Result<WithOption> parse_with(std::string_view value, const WithForms& forms) {
  using Kind = WithOption::Kind;
  if (forms.get_lock && value == k_get_lock) return WithOption{.kind = Kind::get_lock};
  if (forms.advisory && value.starts_with(k_advisory)) {
    value.remove_prefix(k_advisory.size());
    if (value.empty()) return WithOption{.kind = Kind::advisory};
    const auto key = value.starts_with(':') ? whole_number(value.substr(1)) : std::nullopt;
    if (!key) return bad_with(forms);
    return WithOption{.kind = Kind::advisory, .key = key};
  }
  if (!value.starts_with(k_row)) return bad_with(forms);
  value.remove_prefix(k_row.size());
  const auto dot = value.rfind('.');  // the last one: the table may be SCHEMA.TABLE
  if (dot == std::string_view::npos) return bad_with(forms);
  const std::string_view table = value.substr(0, dot);
  const std::string_view column = value.substr(dot + 1);
  if (!forms.is_table(table) || !forms.is_column(column)) return bad_with(forms);
  return WithOption{.kind = Kind::row, .table = std::string(table), .column = std::string(column)};
}

}  // namespace dlock
