// SPDX-License-Identifier: MIT
#include "support/memory_store.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>

namespace dlock {

namespace {

bool is_raised(const Interrupt* interrupt) {
  pollfd wait = polled(interrupt);
  return ::poll(&wait, 1, 0) > 0 && ends_call(interrupt, wait);
}

}  // namespace

// Returns the rows of these names; the caller holds the mutex.
std::vector<lease_table::StoredLock> MemoryStore::rows_of(
    const std::vector<LockName>& names) const {
  std::vector<lease_table::StoredLock> rows;
  for (const LockName& name : names)
    rows.push_back(server_->locks[name.text()]);
  return rows;
}

// Returns the present moment; the caller holds the mutex.
TableStore::Moment MemoryStore::moment(Time sent_at) const {
  if (!server_->time) return local_moment(sent_at);
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(*server_->time);
  return {.sent_at = sent_at,
          .now = lease_table::store_time(Time(*server_->time)),
          .wall_us = us.count()};
}

Result<void> MemoryStore::transact(const std::vector<LockName>& names,
                                   const Occasion& /*occasion*/,
                                   Time /*limit*/,
                                   const Change& change) {
  const Time sent_at = BootClock::now();
  const std::lock_guard guard(server_->mutex);
  auto rows = rows_of(names);
  const Step step = change(lease_table::pointers_to(rows), moment(sent_at));
  for (std::size_t i = 0; i < names.size(); ++i) {
    lease_table::StoredLock& row = server_->locks[names[i].text()];
    if (step.writes_lock(i)) {
      row = std::move(rows[i]);
    } else {
      row.line = std::move(rows[i].line);
    }
  }
  if (!step.tells) return {};
  ++server_->changes;
  server_->changed.notify_all();
  return {};
}

Result<void> MemoryStore::read(const std::vector<LockName>& names,
                               Time /*limit*/,
                               const Look& look) {
  const Time sent_at = BootClock::now();
  const std::lock_guard guard(server_->mutex);
  auto rows = rows_of(names);
  look(lease_table::pointers_to(rows), moment(sent_at));
  return {};
}

Result<void> MemoryStore::watch_rows(const std::vector<LockName>& /*names*/,
                                     const std::vector<std::string>& /*ids*/,
                                     Time /*limit*/) {
  const std::lock_guard guard(server_->mutex);
  seen_changes_ = server_->changes;
  return {};
}

Result<bool> MemoryStore::await_change(Time until) {
  using namespace std::chrono_literals;
  // A condition variable cannot also wait for the descriptor of an interrupt: the wait checks the
  // interrupt every 10 ms.
  constexpr Duration k_slice = 10ms;
  constexpr Duration k_longest_sleep = 1h;
  std::unique_lock guard(server_->mutex);
  for (;;) {
    if (server_->changes != seen_changes_) {
      seen_changes_ = server_->changes;
      return true;
    }
    if (is_raised(interrupt_)) return Error{Errc::cancelled, "cannot wait longer: interrupted"};
    const Time now = BootClock::now();
    if (now >= until) return false;
    const Duration sleep = std::min(until - now, interrupt_ != nullptr ? k_slice : k_longest_sleep);
    server_->changed.wait_for(guard, sleep);
  }
}

Result<std::vector<std::string>> MemoryStore::list(std::string_view glob, Time /*limit*/) {
  const std::lock_guard guard(server_->mutex);
  const auto now = moment({}).now;
  std::vector<std::string> names;
  for (const auto& [name, row] : server_->locks) {
    if (lease_table::is_live(row, now) && lease_table::glob_matches(glob, name)) {
      names.push_back(name);
    }
  }
  return names;  // a map is sorted
}

}  // namespace dlock
