// SPDX-License-Identifier: MIT
#include "store/sql/lock_row.hpp"

#include "base/text.hpp"
#include "store/record_json.hpp"
#include "store/state_json.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <utility>

namespace dlock::sql {

using lease_table::Line;
using lease_table::Place;
using lease_table::StoredLock;
using lease_table::StoreTime;

namespace {

constexpr std::int64_t k_us_per_s = 1'000'000;

const HoldRecord* newest_of(const StoredLock& lock) {
  const HoldRecord* newest = nullptr;
  for (const auto& [owner, lease] : lock.leases)
    for (const auto& [serial, record] : lease.holds)
      if (newest == nullptr || record.since_ms > newest->since_ms) newest = &record;
  return newest;
}

// Returns the waiter's place with this arrival, which is unique within a line; nullptr: the line
// has no such place.
const Place* find(const Line& line, std::int64_t arrival_us) {
  const auto at =
      std::lower_bound(line.begin(), line.end(), arrival_us, [](const Place& one, std::int64_t us) {
        return one.arrival_us < us;
      });
  return at != line.end() && at->arrival_us == arrival_us ? &*at : nullptr;
}

// Returns the number at the beginning of the text, and where it ends.
std::pair<std::int64_t, const char*> read_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  using Limits = std::numeric_limits<std::int64_t>;
  if (error == std::errc::result_out_of_range)
    number = text.front() == '-' ? Limits::min() : Limits::max();
  return {number, end};
}

}  // namespace

std::int64_t us_of(StoreTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

std::string holder_column(const HoldRecord& hold) {
  constexpr std::size_t k_widest = 120;  // ShedLock's column takes 255
  std::string text = who_text(hold.who);
  const auto is_foreign = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  std::replace_if(text.begin(), text.end(), is_foreign, '?');
  return text.substr(0, k_widest);
}

lease_table::ForeignHold foreign_hold(const LockColumns& columns) {
  return {.type = "ShedLock",
          .who = columns.locked_by,
          .until = StoreTime(std::chrono::microseconds(columns.lock_until_us)),
          .since = StoreTime(std::chrono::microseconds(columns.locked_at_us))};
}

LockColumns columns_of(const lease_table::StoredLock& lock, const lease_table::Moment& moment) {
  LockColumns columns{.lock_until_us = moment.wall_us / k_us_per_s * k_us_per_s, .locked_by = {}};
  if (lock.foreign) {
    return {.lock_until_us = us_of(lock.foreign->until.value_or(StoreTime())),
            .locked_at_us = us_of(lock.foreign->since.value_or(StoreTime())),
            .locked_by = lock.foreign->who};
  }
  for (const auto& [owner, lease] : lock.leases) {
    const std::int64_t end = moment.wall_us + us_of(lease.expires) - us_of(moment.now);
    columns.lock_until_us =
        std::max(columns.lock_until_us, (end + k_us_per_s - 1) / k_us_per_s * k_us_per_s);
  }
  if (const HoldRecord* const newest = newest_of(lock)) {
    columns.locked_at_us = newest->since_ms * k_us_per_ms;
    columns.locked_by = holder_column(*newest);
  }
  return columns;
}

std::optional<StoredLock> lock_of(const std::string& name,
                                  const std::string& state,
                                  const LockColumns& columns) {
  StoredLock lock;
  if (!state.empty()) {
    auto parsed = parse_state_file(state);
    if (!parsed || parsed->name != name) return std::nullopt;
    lock = std::move(parsed->state);
  }
  const HoldRecord* const newest = newest_of(lock);
  if (columns.locked_by == (newest == nullptr ? "" : holder_column(*newest))) return lock;
  lock.leases.clear();
  lock.foreign = foreign_hold(columns);
  return lock;
}

Place place_of(std::int64_t arrival_us,
               std::string id,
               lease_table::StoreTime alive_until,
               std::string who) {
  return {.id = std::move(id),
          .arrival_us = arrival_us,
          .alive_until = alive_until,
          .waiter = {std::move(who), arrival_us / k_us_per_ms}};
}

std::string text_at(const Values& row, std::size_t column) {
  return column < row.size() ? row[column].value_or("") : std::string();
}

std::optional<std::int64_t> number_in(const Value& value) {
  const std::string text = value.value_or("");
  const auto [number, end] = read_number(text);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::int64_t number_at(const Values& row, std::size_t column) {
  return read_number(text_at(row, column)).first;
}

std::int64_t possible_time(std::int64_t us) {
  constexpr std::int64_t k_latest = lease_table::k_latest_ms * k_us_per_ms;
  return std::clamp<std::int64_t>(us, 0, k_latest);
}

std::int64_t time_at(const Values& row, std::size_t column) {
  return possible_time(number_at(row, column));
}

bool has_shape(const Table& table, std::size_t most_rows, std::size_t columns) {
  return table.size() <= most_rows &&
         std::all_of(table.begin(), table.end(), [columns](const Values& row) {
           return row.size() == columns;
         });
}

std::optional<std::int64_t> only_number(const Table& table) {
  if (table.size() != 1 || table.front().empty()) return std::nullopt;
  return number_in(table.front().front());
}

Line line_of(const Table& rows) {
  Line line;
  for (const Values& row : rows) {
    const StoreTime alive_until{std::chrono::microseconds(time_at(row, 2))};
    line.push_back(place_of(number_at(row, 0), text_at(row, 1), alive_until, text_at(row, 3)));
  }
  return line;
}

LineChange change_of(const Line& before, const Line& after) {
  LineChange change;
  for (const Place& place : after) {
    const Place* const old = find(before, place.arrival_us);
    if (old == nullptr || !(*old == place)) change.written.push_back(&place);
  }
  for (const Place& place : before) {
    if (find(after, place.arrival_us) == nullptr) change.gone.push_back(&place);
  }
  return change;
}

}  // namespace dlock::sql
