// SPDX-License-Identifier: MIT
// PeerLock: a lock of a database server that lasts as long as a connection: a row lock, an advisory
// lock or GET_LOCK. Programs that do not know dlock's rows exclude each other with such locks.
// BesideStore takes one in addition to a row.
//
// It promises never to take a lost lock again by itself: once the connection is gone, check()
// returns Errc::lost until the next take(). Each call has a limit, and one thread at a time makes
// calls. A peer lock has no lease: the server releases it as soon as the connection or the server
// ends.
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

  virtual std::string kind() const = 0;  // for messages: "row lock", "advisory lock", "GET_LOCK"

  // Returns Errc::bad_usage if the server cannot have a peer lock for this name.
  virtual Result<void> fits(const LockName& name) const = 0;
  virtual bool is_one_for_all_names() const = 0;

  struct Blocked {
    std::size_t which = 0;  // index of the first name whose peer lock another connection has
    std::string by = {};    // number of that connection; empty: unknown
  };
  using Taken = std::optional<Blocked>;  // nullopt: all locks were taken
  // Takes the peer locks of all names or of none. Does not wait until another connection releases a
  // lock. The caller must have no peer lock. Errc::bad_config: the table or row that the URL names
  // is missing or not suitable; the text says what to do.
  virtual Result<Taken> take(const std::vector<LockName>& names, Time limit) = 0;

  // Returns success if this process still has the peer locks. Errc::lost: they are gone; the text
  // says why. After any other error the server has not answered yet, and the locks may still be
  // held.
  virtual Result<void> check(Time limit) = 0;

  // Releases the peer locks. If the server does not answer in time, closes the connection, which
  // releases them, too. May be called if there is no peer lock.
  virtual void give_up(Time limit) = 0;
};

}  // namespace dlock
