// SPDX-License-Identifier: MIT
// PeerLock: a lock that lives as long as one connection to a server: a row lock, an advisory lock
// or GET_LOCK. Programs that know nothing of dlock's rows hold such locks; BesideStore takes them
// beside its row.
//
// It promises: a lost lock is never taken again by itself: once the connection is gone, check()
// says so for good. Calls are bounded as those of LockStore, and come from one thread at a time.
// The server releases the lock at once when the connection or the server ends: there is no lease.
#pragma once

#include "core/lock_store.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dlock {

class PeerLock {
 public:
  PeerLock() = default;
  PeerLock(const PeerLock&) = delete;
  PeerLock& operator=(const PeerLock&) = delete;
  virtual ~PeerLock() = default;

  virtual std::string kind() const = 0;  // "row lock", "advisory lock", "GET_LOCK"

  // Errc::bad_usage if it cannot have this name.
  virtual Result<void> fits(const LockName& name) const = 0;
  virtual bool is_one_for_all_names() const = 0;

  // Takes it for all names or for none, and waits for no holder. Needs: nothing is held yet.
  struct Blocked {
    std::size_t which = 0;  // index of the first name that another holds
    std::string by = {};    // number of the other's connection; empty: unknown
  };
  using Taken = std::optional<Blocked>;  // nothing: it is ours
  // Errc::bad_config if something has to be made there first, with the statement.
  virtual Result<Taken> take(const std::vector<LockName>& names, Time limit) = 0;

  // Whether it is still ours. Errc::lost: it is gone, and why; every other error: no answer so far,
  // and nothing has changed.
  virtual Result<void> check(Time limit) = 0;

  // Releases it, now or in a moment. Also allowed if it was not held.
  virtual void give_up(Time limit) = 0;
};

}  // namespace dlock
