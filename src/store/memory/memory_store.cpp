// SPDX-License-Identifier: MIT
#include "store/memory/memory_store.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>

namespace dlock {

using namespace std::chrono_literals;
using lease_table::moment_since;
using lease_table::States;

namespace {

bool is_raised(const WakeUp* interrupt) {
  if (interrupt == nullptr) return false;
  pollfd wait{.fd = interrupt->fd(), .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, 0) > 0;
}

States states_of(MemoryServer& server, const std::vector<LockName>& names) {
  States states;
  for (const LockName& name : names)
    states.push_back(&server.locks[name.text()]);
  return states;
}

void tell(MemoryServer& server) {
  ++server.changes;
  server.changed.notify_all();
}

}  // namespace

Result<AcquireReply> MemoryStore::acquire(const Claim& claim,
                                          Queueing /*queueing*/,
                                          Time /*limit*/) {
  const Time sent_at = BootClock::now();
  const std::lock_guard guard(server_->mutex);
  auto reply = lease_table::acquire(states_of(*server_, claim.names), claim, moment_since(sent_at));
  if (reply && std::holds_alternative<Grant>(*reply)) tell(*server_);
  return reply;
}

Result<RenewReply> MemoryStore::renew(const Holds& holds, Time /*limit*/) {
  const Time sent_at = BootClock::now();
  const std::lock_guard guard(server_->mutex);
  return lease_table::renew(states_of(*server_, names_of(holds)), holds, moment_since(sent_at));
}

Result<RenewReply> MemoryStore::check(const Holds& holds, Time /*limit*/) {
  const Time sent_at = BootClock::now();
  const std::lock_guard guard(server_->mutex);
  return lease_table::check(states_of(*server_, names_of(holds)), holds, moment_since(sent_at));
}

Result<ReleaseVerdict> MemoryStore::release(const Holds& holds,
                                            const ReleaseOptions& options,
                                            Time /*limit*/) {
  const Time sent_at = BootClock::now();
  const std::lock_guard guard(server_->mutex);
  const States states = states_of(*server_, names_of(holds));
  tell(*server_);
  return lease_table::release(states, holds, options, moment_since(sent_at));
}

Result<Watching> MemoryStore::watch(const Claim& claim, bool /*front*/, Time /*limit*/) {
  const std::lock_guard guard(server_->mutex);
  watched_ = claim;
  seen_changes_ = server_->changes;
  return Watching{};
}

Result<Watching> MemoryStore::watch_hold(const Holds& holds, Time /*limit*/) {
  const std::lock_guard guard(server_->mutex);
  watched_ = holds;
  seen_changes_ = server_->changes;
  return Watching{};
}

bool MemoryStore::has_news() {
  if (server_->changes == seen_changes_) return false;
  seen_changes_ = server_->changes;
  std::vector<lease_table::StoredLock> copies;
  for (const auto* state : states_of(*server_, lease_table::names_of(watched_)))
    copies.push_back(*state);
  States states;
  for (auto& copy : copies)
    states.push_back(&copy);
  return lease_table::is_news(watched_, states, moment_since(BootClock::now()));
}

Result<HandOff> MemoryStore::await_hand_off(Time until) {
  // A condition variable cannot wait for a descriptor too: with an interrupt it looks up from time
  // to time.
  constexpr Duration k_slice = 10ms;
  constexpr Duration k_longest_sleep = 1h;
  std::unique_lock guard(server_->mutex);
  for (;;) {
    if (has_news()) return HandOff::changed;
    if (is_raised(interrupt_)) return Error{Errc::cancelled, "cannot wait longer: interrupted"};
    const Time now = BootClock::now();
    if (now >= until) return HandOff::timed_out;
    const Duration sleep = std::min(until - now, interrupt_ != nullptr ? k_slice : k_longest_sleep);
    server_->changed.wait_for(guard, sleep);
  }
}

Result<Holding> MemoryStore::inspect(const LockName& name, Time /*limit*/) {
  const Time sent_at = BootClock::now();
  const std::lock_guard guard(server_->mutex);
  return lease_table::inspect(server_->locks[name.text()], moment_since(sent_at));
}

Result<std::optional<LastSuccess>> MemoryStore::forget(const LockName& name, Time /*limit*/) {
  const Time sent_at = BootClock::now();
  const std::lock_guard guard(server_->mutex);
  return lease_table::forget(server_->locks[name.text()], moment_since(sent_at));
}

Result<std::vector<std::string>> MemoryStore::list(std::string_view glob, Time /*limit*/) {
  const std::lock_guard guard(server_->mutex);
  const Time now = BootClock::now();
  std::vector<std::string> names;
  for (const auto& [name, state] : server_->locks) {
    if (lease_table::is_live(state, now) && lease_table::glob_matches(glob, name)) {
      names.push_back(name);
    }
  }
  return names;  // a map is sorted
}

Result<RevokeReply> MemoryStore::revoke(const LockName& name,
                                        const RevokeOrder& order,
                                        Time /*limit*/) {
  const Time sent_at = BootClock::now();
  const std::lock_guard guard(server_->mutex);
  tell(*server_);
  return lease_table::revoke(server_->locks[name.text()], order, moment_since(sent_at));
}

}  // namespace dlock
