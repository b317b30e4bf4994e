// SPDX-License-Identifier: MIT
#include "store/table/stored_lock.hpp"

#include "store/record_json.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dlock::lease_table {

std::int64_t wall_ms(const Moment& moment) {
  constexpr std::int64_t k_us_per_ms = 1000;
  return moment.wall_us / k_us_per_ms;
}

bool is_live(const Lease& lease, StoreTime now) {
  return now < lease.expires;
}

bool is_live(const ForeignHold& foreign, StoreTime now) {
  return !foreign.until || now < *foreign.until;
}

bool is_live(const StoredLock& state, StoreTime now) {
  if (state.layout > k_layout) return true;  // a newer dlock wrote the lock, which may be held
  if (state.foreign && is_live(*state.foreign, now)) return true;
  return std::any_of(state.leases.begin(), state.leases.end(), [&](const auto& entry) {
    return is_live(entry.second, now);
  });
}

bool is_kept(const Lease& lease) {
  return lease.holds.begin()->second.kept;
}

bool is_of_freeze(const Lease& lease) {
  return is_kept(lease) && lease.holds.begin()->second.token == 0;
}

Mode mode_of(const Lease& lease) {
  static_assert(Mode::plain < Mode::exclusive && Mode::exclusive < Mode::shared);
  Mode mode = Mode::slots;
  for (const auto& [serial, record] : lease.holds)
    mode = std::min(mode, record.mode);
  return mode;
}

Mode mode_of(const StoredLock& state) {
  Mode mode = Mode::slots;
  for (const auto& [owner, lease] : state.leases)
    mode = std::min(mode, mode_of(lease));
  return mode;
}

bool has_room(const StoredLock& state, Mode mode, std::uint32_t slots) {
  if (state.frozen) return false;
  if (state.foreign && !(state.foreign->shared && mode == Mode::shared)) return false;
  if (state.leases.empty()) return true;
  if (mode_of(state) != mode) return false;
  if (mode == Mode::slots) return state.slots == slots && state.leases.size() < state.slots;
  return mode == Mode::shared;
}

States pointers_to(std::vector<StoredLock>& all) {
  States states;
  for (StoredLock& state : all)
    states.push_back(&state);
  return states;
}

std::uint64_t number_of(const Line& line, const std::string& id) {
  const auto at =
      std::find_if(line.begin(), line.end(), [&](const Place& one) { return one.id == id; });
  return at == line.end() ? 0 : static_cast<std::uint64_t>(at - line.begin()) + 1;
}

bool is_first(const Line& line, const std::string& id) {
  return line.empty() || line.front().id == id;
}

const Waiter& LineWaiter::operator*() const {
  if (!waiter_) {
    Waiter parsed = parse_waiter(json_).value_or(Waiter{});
    parsed.since_ms = since_ms_;
    waiter_ = std::make_shared<const Waiter>(std::move(parsed));
  }
  return *waiter_;
}

void drop_place(Line& line, const std::string& id) {
  std::erase_if(line, [&](const Place& one) { return one.id == id; });
}

bool has_room_for_first(const StoredLock& state) {
  const Waiter& first = *state.line.front().waiter;
  return has_room(state, first.mode, first.slots);
}

void make_free(StoredLock& state) {
  state.leases.clear();
  state.foreign.reset();
  state.line.clear();
}

void drop_dead(StoredLock& state, StoreTime now) {
  std::erase_if(state.leases, [&](const auto& entry) { return !is_live(entry.second, now); });
  if (state.foreign && !is_live(*state.foreign, now)) state.foreign.reset();
}

std::optional<std::chrono::milliseconds> freeze_left(const StoredLock& state,
                                                     const Moment& moment) {
  if (!state.frozen || wall_ms(moment) >= state.frozen->until_ms) return std::nullopt;
  return std::chrono::milliseconds(state.frozen->until_ms - wall_ms(moment));
}

void keep_frozen(StoredLock& state, const OwnerId& owner, const Moment& moment) {
  const auto left = freeze_left(state, moment);
  if (!left || !state.leases.empty() || state.foreign) return;
  HoldRecord record{.id = hold_id(owner, k_kept),
                    .who = state.frozen->who,
                    .since_ms = state.frozen->since_ms,
                    .kept = true};
  state.leases[owner] = {
      .holds = {{k_kept, std::move(record)}}, .expires = moment.now + *left, .revoked_by = {}};
}

void note_release(StoredLock& state, const std::string& hold_id, const Moment& moment) {
  constexpr std::int64_t k_day_ms = std::int64_t{24} * 3600 * 1000;
  constexpr std::size_t k_most = 100;
  const std::int64_t now = wall_ms(moment);
  std::erase_if(state.released, [&](const ReleasedHold& one) {
    return one.id == hold_id || one.at_ms < now - k_day_ms;
  });
  if (state.released.size() >= k_most) state.released.erase(state.released.begin());
  state.released.push_back({hold_id, now});
}

bool was_released(const StoredLock& state, const std::string& hold_id) {
  return std::any_of(state.released.begin(), state.released.end(), [&](const ReleasedHold& one) {
    return one.id == hold_id;
  });
}

void extend(Lease& lease, Duration ttl, StoreTime now) {
  lease.expires = std::max(lease.expires, now + ttl);
}

}  // namespace dlock::lease_table
