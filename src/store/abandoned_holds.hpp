// SPDX-License-Identifier: MIT
// Releases the holds of nested runs that were killed. A killed run cannot release its hold, which
// would otherwise exclude others until its lease ends. The outer run is on the same machine and can
// see that the nested run is dead, so it releases the abandoned hold together with its own.
#pragma once

#include "core/lock_store.hpp"

namespace dlock {

// What a process counts as whose environment we may not look at.
enum class Hidden { carrier, other };

// Returns whether no living process has the hold in its environment. Also false if /proc may hide
// processes. A hidden process that descends from us counts as a carrier in any case.
bool is_carried_by_none(const HoldRecord& record, Hidden hidden);

// Releases `holds`. If the owner of a hold that is not nested still has other holds of the name,
// also releases those whose run has no living process on this machine; in doubt a hold is kept.
// Returns an error only if the first release fails. If a later release fails, returns `still_held`.
Result<ReleaseVerdict> release_with_abandoned(LockStore& store,
                                              const Holds& holds,
                                              const ReleaseOptions& options,
                                              Time limit);

}  // namespace dlock
