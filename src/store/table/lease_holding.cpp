// SPDX-License-Identifier: MIT
#include "store/table/lease_holding.hpp"

#include "base/duration.hpp"
#include "store/table/waiting_line.hpp"

#include <algorithm>
#include <chrono>

namespace dlock::lease_table {

namespace {

// How many owners, and how many waiters, are shown at most.
constexpr std::size_t k_most_listed = 64;

LeaseLeft left_of(const Lease& lease, StoreTime now) {
  const Duration left = lease.expires - now;
  return lease.at_most ? LeaseLeft::at_most(left) : LeaseLeft(left);
}

// Returns the time until so many leases have ended that the lock has room. `one_is_enough`: the end
// of one lease gives room, as with slots. Otherwise all leases must end.
LeaseLeft lease_left(const StoredLock& state, StoreTime now, bool one_is_enough) {
  const Lease* counts = nullptr;
  for (const auto& [owner, lease] : state.leases) {
    if (!is_live(lease, now)) continue;
    const bool sooner = counts != nullptr && lease.expires < counts->expires;
    if (counts == nullptr || sooner == one_is_enough) counts = &lease;
  }
  return counts != nullptr ? left_of(*counts, now) : LeaseLeft(Duration::zero());
}

// Returns a doubt about a foreign holder (a program other than dlock), if its times are so far
// ahead that its clock cannot be the clock of the table. Otherwise the text is empty.
std::string doubt_of(const ForeignHold& foreign, StoreTime now) {
  using namespace std::chrono;
  const auto ahead = foreign.since.value_or(now) - now;
  if (ahead <= seconds(5)) return {};
  const Duration about =
      ahead < minutes(1) ? Duration(round<seconds>(ahead)) : round<minutes>(ahead);
  return "its clock is " + format_duration(about) +
         " ahead of the server's: does it use usingDbTime()?";
}

void show_foreign(const ForeignHold& foreign, StoreTime now, Holding& holding) {
  holding.kind = Holding::Kind::foreign;
  holding.type = foreign.type;
  holding.owners = {{.id = foreign.who, .count = "1"}};
  holding.owner_count = 1;
  if (foreign.endless) holding.lease_left = LeaseLeft::never();
  if (foreign.until) holding.lease_left = *foreign.until - now;
  holding.doubt = doubt_of(foreign, now);
}

std::optional<LastRun> last_run(const StoredLock& state, const Moment& moment) {
  if (!state.last || wall_ms(moment) >= state.last->until_ms) return std::nullopt;
  LastRun last = state.last->run;
  const bool held = std::any_of(state.leases.begin(), state.leases.end(), [&](const auto& entry) {
    return is_live(entry.second, moment.now) && !is_kept(entry.second);
  });
  last.later_is_silent = !held && !state.foreign && state.token > state.last->newest;
  return last;
}

// Returns the state of the lock for display, without the list of waiters, which only inspect()
// adds.
Holding holding_of(const StoredLock& state, const Moment& moment) {
  Holding holding;
  holding.now_ms = wall_ms(moment);
  holding.success = last_success(state, moment);
  holding.frozen = freeze_of(state, moment);
  holding.last = last_run(state, moment);
  holding.waiting = living(state.line, moment.now);
  if (!is_live(state, moment.now)) return holding;
  if (state.foreign) show_foreign(*state.foreign, moment.now, holding);
  if (state.leases.empty()) return holding;
  holding.kind = Holding::Kind::lock;
  holding.type = "lease";
  for (const auto& [owner, lease] : state.leases) {
    if (!is_live(lease, moment.now)) continue;
    holding.mode = mode_of(lease);
    if (holding.revoked_by.empty()) holding.revoked_by = lease.revoked_by.value_or("");
    if (++holding.owner_count > k_most_listed) continue;
    Holding::Owner& one =
        holding.owners.emplace_back(Holding::Owner{owner, std::to_string(lease.holds.size())});
    if (holding.mode >= Mode::shared) one.lease_left = left_of(lease, moment.now);
    for (const auto& [serial, record] : lease.holds)
      holding.holds.push_back(record);
  }
  if (holding.mode == Mode::slots) holding.slots = state.slots;
  holding.lease_left = lease_left(state, moment.now, holding.mode == Mode::slots);
  return holding;
}

}  // namespace

std::optional<LastSuccess> last_success(const StoredLock& state, const Moment& moment) {
  const std::int64_t now = wall_ms(moment);
  if (!state.success || now >= state.success->until_ms) return std::nullopt;
  const auto& [since, until] = *state.success;
  return LastSuccess{.since_ms = since,
                     .ago = std::chrono::milliseconds(std::max<std::int64_t>(now - since, 0)),
                     .left = std::chrono::milliseconds(until - now)};
}

std::optional<Freeze> freeze_of(const StoredLock& state, const Moment& moment) {
  const auto left = freeze_left(state, moment);
  if (!left) return std::nullopt;
  return Freeze{.who = state.frozen->who, .since_ms = state.frozen->since_ms, .left = *left};
}

Holding in_the_way(const StoredLock& state, const Claim& claim, const Moment& moment) {
  Holding holding = holding_of(state, moment);
  if (state.leases.empty()) return holding;
  const bool one_is_enough = holding.mode == Mode::slots && claim.mode == Mode::slots;
  holding.lease_left = lease_left(state, moment.now, one_is_enough);
  return holding;
}

Holding inspect(const StoredLock& state, const Moment& moment) {
  Holding holding = holding_of(state, moment);
  for (const Place& place : state.line) {
    if (is_living(place, moment.now) && holding.line.size() < k_most_listed)
      holding.line.push_back(*place.waiter);
  }
  return holding;
}

}  // namespace dlock::lease_table
