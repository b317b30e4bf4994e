// SPDX-License-Identifier: MIT
// Frees the locks of holders that died on this machine, with their guard and their command. Such a
// holder cannot release its hold, which would exclude others until its lease ends.
#pragma once

#include "core/ask.hpp"
#include "core/lock_store.hpp"

#include <cstddef>
#include <vector>

namespace dlock {

class DeadHolders {
 public:
  // Acquires as LockStore::acquire() does. If a dead holder (core/dead_holder.hpp) is in the way,
  // releases its hold and tries again. A claim of one of several names also looks at the names
  // that the refusal does not show, each in a call of its own.
  event::Acquired acquire(LockStore& store, const Claim& claim, Queueing queueing, Time limit);
  // Inspects a name, whose index is `which`. If it has a dead holder, releases that hold and looks
  // again.
  event::Inspected inspect(LockStore& store, const LockName& name, std::size_t which, Time limit);
  // Releases the holds of dead holders that `holding` shows, and returns them. Compares owner and
  // serial, which no later hold has. So what has changed since the look is not touched.
  std::vector<Reclaimed> release(LockStore& store,
                                 const LockName& name,
                                 std::size_t which,
                                 const Holding& holding,
                                 Time limit);

 private:
  std::vector<Reclaimed> release_elsewhere(LockStore& store,
                                           const Claim& claim,
                                           std::size_t shown,
                                           Time limit);

  bool denied_ = false;  // the store has refused a release, so no other is tried
};

}  // namespace dlock
