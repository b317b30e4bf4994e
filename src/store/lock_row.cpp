// SPDX-License-Identifier: MIT
#include "store/lock_row.hpp"

#include "base/text.hpp"
#include "store/record_json.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlock::sql {

using lease_table::Line;
using lease_table::Place;

namespace {

// Rows of a line are known by their arrival.
const Place* find(const Line& line, std::int64_t arrival_us) {
  const auto at =
      std::lower_bound(line.begin(), line.end(), arrival_us, [](const Place& one, std::int64_t us) {
        return one.arrival_us < us;
      });
  return at != line.end() && at->arrival_us == arrival_us ? &*at : nullptr;
}

}  // namespace

LockColumns columns_of(const lease_table::StoredLock& lock, const lease_table::Moment& moment) {
  constexpr std::size_t k_widest = 255;  // of the column locked_by
  constexpr std::int64_t k_us_per_ms = 1000;
  LockColumns columns{.lock_until_us = moment.wall_us, .locked_by = {}};
  const HoldRecord* newest = nullptr;
  for (const auto& [owner, lease] : lock.leases) {
    const auto left =
        std::chrono::duration_cast<std::chrono::microseconds>(lease.expires - moment.now);
    columns.lock_until_us =
        std::max<std::int64_t>(columns.lock_until_us, moment.wall_us + left.count());
    for (const auto& [serial, record] : lease.holds)
      if (newest == nullptr || record.since_ms > newest->since_ms) newest = &record;
  }
  if (newest == nullptr) return columns;
  columns.locked_at_us = newest->since_ms * k_us_per_ms;
  columns.locked_by = shortened(who_text(newest->who), k_widest);
  return columns;
}

Place place_of(std::int64_t arrival_us,
               std::string waiter,
               lease_table::StoreTime alive_until,
               std::string_view who) {
  constexpr std::int64_t k_us_per_ms = 1000;
  Place place{.id = std::move(waiter),
              .arrival_us = arrival_us,
              .alive_until = alive_until,
              .waiter = parse_waiter(who).value_or(Waiter{})};
  place.waiter.since_ms = arrival_us / k_us_per_ms;
  return place;
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
