// SPDX-License-Identifier: MIT
// What nested runs leave in the store when they are killed: a hold that nobody will ever give back.
// The run above them knows this machine, so it can give them back with its own hold, instead of
// leaving the lock to its lease.
#pragma once

#include "core/lock_store.hpp"

namespace dlock {

// Releases `holds`, and of those that are nobody's nested ones all holds of the same owner after
// which nothing lives on this machine. Whatever cannot be told for certain stays as it is. Errors
// are those of the first release only: `still_held` is true whatever comes after it.
Result<ReleaseVerdict> release_with_abandoned(LockStore& store,
                                              const Holds& holds,
                                              const ReleaseOptions& options,
                                              Time limit);

}  // namespace dlock
