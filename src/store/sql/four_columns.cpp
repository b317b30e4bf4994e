// SPDX-License-Identifier: MIT
#include "store/sql/four_columns.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

namespace dlock::sql {

using lease_table::StoredLock;
using lease_table::StoreTime;

namespace {

constexpr std::string_view k_mark = " dlock ";
constexpr std::string_view k_free = "-";  // stands in place of a hold's id if the lock is free

const HoldRecord* only_hold(const StoredLock& lock) {
  return lock.leases.empty() ? nullptr : &lock.leases.begin()->second.holds.begin()->second;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Reads a text of who_text(), "user@host pid 812". The result is only for display.
HolderInfo holder_from(std::string_view text) {
  HolderInfo who;
  const auto at = text.find('@');
  const auto pid = text.rfind(" pid ");
  if (at == std::string_view::npos || pid == std::string_view::npos || pid < at) {
    who.host = text;
    return who;
  }
  who.user = text.substr(0, at);
  who.host = text.substr(at + 1, pid - at - 1);
  who.pid = static_cast<long>(number_of(text.substr(pid + 5)).value_or(0));
  return who;
}

// Returns the hold that dlock wrote into locked_by. nullopt: another program wrote locked_by.
std::optional<HoldRecord> hold_from(const LockColumns& columns) {
  const std::string_view text = columns.locked_by;
  const auto mark = text.rfind(k_mark);
  if (mark == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(mark + k_mark.size());
  const auto gap = rest.find(' ');
  const std::string_view id = rest.substr(0, gap);
  if (gap == std::string_view::npos || (id != k_free && id.find('#') == std::string_view::npos))
    return std::nullopt;
  const auto token = number_of(rest.substr(gap + 1));
  if (!token) return std::nullopt;
  return HoldRecord{.id = std::string(id),
                    .who = holder_from(text.substr(0, mark)),
                    .token = *token,
                    .since_ms = columns.locked_at_us / k_us_per_ms};
}

}  // namespace

LockColumns four_columns_of(const StoredLock& lock, const lease_table::Moment& moment) {
  LockColumns columns = columns_of(lock, moment);
  if (lock.foreign) return columns;
  const HoldRecord* const hold = only_hold(lock);
  const std::string id = hold == nullptr ? std::string(k_free) : hold->id;
  const FencingToken token = hold == nullptr ? lock.token : hold->token;
  if (hold == nullptr) columns.locked_by = "free";
  columns.locked_by += std::string(k_mark) + id + ' ' + std::to_string(token);
  return columns;
}

StoredLock lock_of_four(const LockColumns& columns, std::int64_t now_us) {
  StoredLock lock;
  auto hold = hold_from(columns);
  // Takes now_us if locked_at is later: the clock of the program that wrote locked_at was ahead, or
  // the column rounds up to whole seconds.
  const std::int64_t at_us = std::min(columns.locked_at_us, now_us);
  lock.token = static_cast<FencingToken>(std::max<std::int64_t>(at_us, 0));
  if (!hold && !columns.locked_by.empty()) lock.foreign = foreign_hold(columns);
  if (!hold) return lock;
  lock.token = hold->token;
  if (hold->id == k_free) return lock;
  const auto hash = hold->id.find('#');
  const OwnerId owner = hold->id.substr(0, hash);
  const HoldSerial serial = hold->id.substr(hash + 1);
  hold->kept = serial == lease_table::k_kept;
  lock.leases[owner] = {.holds = {{serial, std::move(*hold)}},
                        .expires = StoreTime(std::chrono::microseconds(columns.lock_until_us)),
                        .revoked_by = {}};
  return lock;
}

bool fits_four_columns(const StoredLock& lock) {
  if (lock.success || lock.frozen || lock.leases.size() > 1) return false;
  return std::all_of(lock.leases.begin(), lock.leases.end(), [](const auto& entry) {
    const auto& [owner, lease] = entry;
    const HoldRecord& hold = lease.holds.begin()->second;
    return lease.holds.size() == 1 && hold.mode == Mode::plain && !lease.revoked_by;
  });
}

}  // namespace dlock::sql
