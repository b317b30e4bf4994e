// SPDX-License-Identifier: MIT
// PeerLock: a lock of a database server that lasts as long as one connection: a row lock, an
// advisory lock or GET_LOCK. Programs that do not know dlock's rows use such locks; BesideStore
// takes them in addition to its rows.
//
// It promises never to take a lost lock again without being asked: once the connection is gone,
// check() returns Errc::lost until the next take(). Calls are bounded as those of LockStore and
// come from one thread at a time. There is no lease: the server releases the lock as soon as the
// connection or the server ends.
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

  // Returns Errc::bad_usage if the server cannot have a peer lock of this name.
  virtual Result<void> fits(const LockName& name) const = 0;
  virtual bool is_one_for_all_names() const = 0;

  struct Blocked {
    std::size_t which = 0;  // index of the first name whose lock another connection holds
    std::string by = {};    // number of the connection that holds it; empty: unknown
  };
  using Taken = std::optional<Blocked>;  // nullopt: the locks are ours
  // Takes the locks of all names or of none, without waiting for a holder. The caller must hold no
  // lock. Errc::bad_config: the table or row that the URL names is missing or unfit; the text says
  // what to do.
  virtual Result<Taken> take(const std::vector<LockName>& names, Time limit) = 0;

  // Returns success if the locks are still ours. Errc::lost: they are gone, and why; any other
  // error: there is no answer so far, and nothing has changed.
  virtual Result<void> check(Time limit) = 0;

  // Releases the locks, at once or, if the server does not answer in time, by closing the
  // connection. May be called if no lock is held.
  virtual void give_up(Time limit) = 0;
};

}  // namespace dlock
