// SPDX-License-Identifier: MIT
// The holds of nested runs that were killed: no process will ever release them. The outer run is on
// the same machine and can see that they are dead, so it releases them with its own hold, instead
// of leaving them until the lease ends.
#pragma once

#include "core/lock_store.hpp"

namespace dlock {

// Releases `holds`. For each hold that is not nested, also releases all holds of the same owner
// that have no living process on this machine; in doubt a hold is kept. Only an error of the first
// release is returned; if a later one fails, the result is `still_held`.
Result<ReleaseVerdict> release_with_abandoned(LockStore& store,
                                              const Holds& holds,
                                              const ReleaseOptions& options,
                                              Time limit);

}  // namespace dlock
