// SPDX-License-Identifier: MIT
// PeerLock: a lock that lives as long as one connection to a server: of a row, an advisory lock,
// GET_LOCK. Programs that know nothing of dlock's rows hold such locks; BesideStore holds theirs
// beside its row.
//
// It promises: a lock that was taken is never taken again by itself: once the connection is gone,
// check() says so for good. Calls are bounded as those of LockStore, and come from one thread at a
// time. The server gives the lock away at once when the connection or the server ends: there is no
// lease.
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

  // Errc::bad_usage where it cannot have this name.
  virtual Result<void> fits(const LockName& name) const = 0;
  virtual bool is_one_for_all_names() const = 0;

  // Takes it for all of the names or for none, and waits for no holder. Nothing held before.
  struct Blocked {
    std::size_t which = 0;  // of the names: the first that is held by another
    std::string by = {};    // the number of its connection; empty: not known
  };
  using Taken = std::optional<Blocked>;  // nothing: it is ours
  // Errc::bad_config where something has to be made there first, with the statement.
  virtual Result<Taken> take(const std::vector<LockName>& names, Time limit) = 0;

  // Is it still ours? Errc::lost: it is gone, and why; every other error: no answer so far, and it
  // is as it was.
  virtual Result<void> check(Time limit) = 0;

  // It is free then, or will be in a moment. Also if there was none.
  virtual void give_up(Time limit) = 0;
};

}  // namespace dlock
