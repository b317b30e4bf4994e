// SPDX-License-Identifier: MIT
// The holds of nested runs that were killed: no process will ever release them. The run above them
// knows this machine, so it can release them with its own hold, instead of waiting for the end of
// the lease.
#pragma once

#include "core/lock_store.hpp"

namespace dlock {

// Releases `holds`; for those that are not nested, also all holds of the same owner without a
// living process on this machine. In doubt a hold is kept. Errors are those of the first release
// only: `still_held` is true whatever comes after it.
Result<ReleaseVerdict> release_with_abandoned(LockStore& store,
                                              const Holds& holds,
                                              const ReleaseOptions& options,
                                              Time limit);

}  // namespace dlock
