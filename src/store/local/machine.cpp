// SPDX-License-Identifier: MIT
#include "store/local/machine.hpp"

#include "base/wall_clock.hpp"

#include <algorithm>

namespace dlock::local {

using lease_table::StoreTime;

namespace {

// Returns whether a lease in the file began later than `now`. That is possible only if the clock
// has started anew since then, with a reboot.
bool begins_later(const lease_table::StoredLock& state, StoreTime now) {
  return std::any_of(state.leases.begin(), state.leases.end(), [&](const auto& one) {
    Duration longest{};
    for (const auto& [serial, hold] : one.second.holds)
      longest = std::max(longest, hold.ttl);
    return one.second.expires - longest > now;
  });
}

}  // namespace

Result<Machine> Machine::here() {
  auto boot = this_boot();
  if (!boot) return boot.error();
  return Machine(std::move(*boot));
}

StoreTime Machine::now() const {
  return lease_table::store_time(BootClock::now() - boot_.clock_offset);
}

lease_table::Moment Machine::moment(Time sent_at) const {
  return {.sent_at = sent_at, .now = now(), .wall_us = wall_us()};
}

BootStamp Machine::stamp() const {
  return {.boot_id = boot_.id, .at = now()};
}

bool is_of_another_boot(const StateFile& file, const BootStamp& now) {
  const BootStamp& then = file.stamp;
  const bool same_id = then.boot_id == now.boot_id;
  if (!then.at) return !same_id && begins_later(file.state, *now.at);
  if (!then.boot_id.empty() && !now.boot_id.empty()) return !same_id;
  return *then.at > *now.at;
}

}  // namespace dlock::local
