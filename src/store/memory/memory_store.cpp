// SPDX-License-Identifier: MIT
#include "store/memory/memory_store.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>

namespace dlock {

using namespace std::chrono_literals;
using lease_table::moment_since;

namespace {

bool is_raised(const WakeUp* interrupt) {
  if (interrupt == nullptr) return false;
  pollfd wait{.fd = interrupt->fd(), .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, 0) > 0;
}

void tell(MemoryServer& server, MemoryServer::Lock& lock) {
  ++lock.changes;
  server.changed.notify_all();
}

}  // namespace

Result<AcquireReply> MemoryStore::acquire(const Claim& claim, Time /*limit*/) {
  const Time sent_at = BootClock::now();
  const std::lock_guard guard(server_->mutex);
  auto& lock = server_->locks[claim.name.text()];
  return lease_table::acquire(lock.state, claim, moment_since(sent_at));
}

Result<RenewReply> MemoryStore::renew(const Hold& hold, Time /*limit*/) {
  const Time sent_at = BootClock::now();
  const std::lock_guard guard(server_->mutex);
  auto& lock = server_->locks[hold.name.text()];
  return lease_table::renew(lock.state, hold, moment_since(sent_at));
}

Result<RenewReply> MemoryStore::check(const Hold& hold, Time /*limit*/) {
  const Time sent_at = BootClock::now();
  const std::lock_guard guard(server_->mutex);
  return lease_table::check(server_->locks[hold.name.text()].state, hold, moment_since(sent_at));
}

Result<ReleaseVerdict> MemoryStore::release(const Hold& hold, Time /*limit*/) {
  const Time sent_at = BootClock::now();
  const std::lock_guard guard(server_->mutex);
  auto& lock = server_->locks[hold.name.text()];
  const auto verdict = lease_table::release(lock.state, hold, moment_since(sent_at));
  if (verdict == ReleaseVerdict::released) tell(*server_, lock);
  return verdict;
}

Result<Watching> MemoryStore::watch(const Claim& claim, bool /*front*/, Time /*limit*/) {
  const std::lock_guard guard(server_->mutex);
  watched_ = claim.name.text();
  seen_changes_ = server_->locks[watched_].changes;
  return Watching{};
}

Result<Watching> MemoryStore::watch_hold(const Hold& hold, Time /*limit*/) {
  const std::lock_guard guard(server_->mutex);
  watched_ = hold.name.text();
  seen_changes_ = server_->locks[watched_].changes;
  return Watching{};
}

Result<HandOff> MemoryStore::await_hand_off(Time until) {
  // A condition variable cannot wait for a descriptor too: with an interrupt it looks up from time
  // to time.
  constexpr Duration k_slice = 10ms;
  constexpr Duration k_longest_sleep = 1h;
  std::unique_lock guard(server_->mutex);
  for (;;) {
    const std::uint64_t changes = server_->locks[watched_].changes;
    if (changes != seen_changes_) {
      seen_changes_ = changes;
      return HandOff::changed;
    }
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
  return lease_table::inspect(server_->locks[name.text()].state, moment_since(sent_at));
}

Result<std::vector<std::string>> MemoryStore::list(std::string_view glob, Time /*limit*/) {
  const std::lock_guard guard(server_->mutex);
  const Time now = BootClock::now();
  std::vector<std::string> names;
  for (const auto& [name, lock] : server_->locks) {
    if (lease_table::is_live(lock.state, now) && lease_table::glob_matches(glob, name)) {
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
  auto& lock = server_->locks[name.text()];
  auto reply = lease_table::revoke(lock.state, order, moment_since(sent_at));
  const bool done =
      reply.verdict == RevokeVerdict::deleted || reply.verdict == RevokeVerdict::revoked;
  if (done) tell(*server_, lock);
  return reply;
}

}  // namespace dlock
