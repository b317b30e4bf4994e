// SPDX-License-Identifier: MIT
// Undoes a claim whose answer was lost. The claim may have been granted all the same, to its own
// owner or, if it joined the hold of an ancestor, to the ancestor's owner.
#pragma once

#include "core/lock_store.hpp"

namespace dlock {

// Releases the claim's hold under every owner to which it may have been granted, and then leaves
// the line. `queueing`: as in the claim's last acquire(). Returns the first error, and does
// nothing after it. A second call does no harm.
Result<void> undo(LockStore& store, const Claim& claim, Queueing queueing, Time limit);

}  // namespace dlock
