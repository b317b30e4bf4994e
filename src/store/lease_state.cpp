// SPDX-License-Identifier: MIT
#include "store/lease_state.hpp"

#include <algorithm>

namespace dlock::lease_table {

std::int64_t wall_ms(const Moment& moment) {
  constexpr std::int64_t k_us_per_ms = 1000;
  return moment.wall_us / k_us_per_ms;
}

bool is_live(const Lease& lease, Time now) {
  return now < lease.expires;
}

bool is_live(const LeaseState& state, Time now) {
  return std::any_of(state.leases.begin(), state.leases.end(), [&](const auto& entry) {
    return is_live(entry.second, now);
  });
}

bool is_kept(const Lease& lease) {
  return lease.holds.begin()->second.kept;
}

Mode mode_of(const Lease& lease) {
  static_assert(Mode::exclusive < Mode::write && Mode::write < Mode::shared);
  Mode mode = Mode::slots;
  for (const auto& [serial, record] : lease.holds)
    mode = std::min(mode, record.mode);
  return mode;
}

Mode mode_of(const LeaseState& state) {
  Mode mode = Mode::slots;
  for (const auto& [owner, lease] : state.leases)
    mode = std::min(mode, mode_of(lease));
  return mode;
}

void make_free(LeaseState& state) {
  state.leases.clear();
}

void drop_dead(LeaseState& state, Time now) {
  std::erase_if(state.leases, [&](const auto& entry) { return !is_live(entry.second, now); });
}

void extend(Lease& lease, Duration ttl, Time now) {
  lease.expires = std::max(lease.expires, now + ttl);
}

}  // namespace dlock::lease_table
