// SPDX-License-Identifier: MIT
#include "cmd/lock_table.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "cmd/holder_text.hpp"

#include <algorithm>
#include <array>

namespace dlock {

namespace {

enum Column { c_name, c_holder, c_held, c_age, c_lease, c_waiting, c_command, c_count };
using Row = std::array<std::string, c_count>;

std::string held_word(const Holding& holding) {
  if (holding.kind == Holding::Kind::foreign) return "foreign";
  if (!holding.revoked_by.empty()) return "revoked";
  if (holding.frozen) return "frozen";
  if (is_only_kept(holding)) return "kept";
  switch (holding.mode) {
    case Mode::plain:
      break;
    case Mode::exclusive:
    case Mode::shared:
      return std::string(mode_word(holding.mode));
    case Mode::slots:
      return std::to_string(holding.owner_count) + " of " + std::to_string(holding.slots);
  }
  return "alone";
}

std::string lease_word(const LeaseLeft& left) {
  const bool at_most = left.kind() == LeaseLeft::Kind::at_most;
  if (left.within()) return (at_most ? "max. " : "") + format_duration(*left.within());
  return left.kind() == LeaseLeft::Kind::never ? "endless" : "";
}

Row row_of(const NamedHolding& lock) {
  const Holding& holding = lock.holding;
  Row row;
  row[c_name] = printable(lock.name);
  row[c_held] = held_word(holding);
  row[c_lease] = lease_word(holding.lease_left);
  if (holding.waiting > 0) row[c_waiting] = std::to_string(holding.waiting);
  if (is_only_frozen(holding)) {
    row[c_holder] = short_who(holding.frozen->who);
    row[c_lease] = format_duration(holding.frozen->left);
    row[c_command] = printable(holding.frozen->who.reason);
    return row;
  }
  if (holding.holds.empty()) {
    const std::string owner = holding.owners.empty() ? "" : holding.owners.front().id;
    const bool foreign = holding.kind == Holding::Kind::foreign;
    row[c_holder] = printable(owner.empty() ? holding.type : owner) + others_text(holding);
    row[c_command] = foreign ? printable(holding.type) : "not dlock";
    return row;
  }
  const HoldRecord& first = first_hold(holding);
  row[c_holder] = short_who(first.who) + others_text(holding);
  if (!first.kept) row[c_age] = format_duration(age_of(first, holding));
  row[c_command] = short_command(first.who);
  if (holding.frozen) {
    row[c_command] += "; " + frozen_text(*holding.frozen);
  } else if (!first.who.reason.empty()) {
    row[c_command] += ": " + printable(first.who.reason);
  }
  return row;
}

// Shortens very long names and owners, so that the other columns stay visible.
void shorten(std::vector<Row>& rows, std::size_t columns, const char* dots) {
  for (Row& row : rows) {
    row[c_name] = fit(row[c_name], columns / 2, dots);
    row[c_holder] = fit(row[c_holder], columns / 2, dots);
  }
}

bool is_needed(const std::vector<Row>& rows, std::size_t column) {
  const std::string_view usual = column == c_held ? "alone" : "";
  return std::any_of(
      rows.begin(), rows.end(), [&](const Row& row) { return row[column] != usual; });
}

}  // namespace

std::string lock_table(const std::vector<NamedHolding>& locks, std::size_t columns, bool utf8) {
  if (locks.empty()) return "";
  const char* const dots = utf8 ? "…" : "...";
  std::vector<Row> rows;
  rows.reserve(locks.size() + 1);
  for (const NamedHolding& lock : locks)
    rows.push_back(row_of(lock));
  shorten(rows, columns, dots);
  std::vector<std::size_t> shown;
  for (std::size_t column = 0; column < c_count; ++column)
    if (is_needed(rows, column)) shown.push_back(column);
  rows.insert(rows.begin(), {"NAME", "HOLDER", "HELD", "FOR", "LEASE", "WAITING", "COMMAND"});
  std::vector<std::string> lines(rows.size());
  for (const std::size_t column : shown) {
    std::size_t width = 0;
    for (const Row& row : rows)
      width = std::max(width, columns_of(row[column]));
    for (std::size_t i = 0; i < rows.size(); ++i)
      lines[i] += rows[i][column] + std::string(width + 2 - columns_of(rows[i][column]), ' ');
  }
  std::string text;
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    if (!utf8) line = with_ascii_dots(line);
    text += fit(line, columns, dots) + "\n";
  }
  return text;
}

}  // namespace dlock
