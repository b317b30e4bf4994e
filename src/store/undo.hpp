// SPDX-License-Identifier: MIT
// Undoes a claim whose answer was lost: it may have been granted, to us or below an ancestor.
#pragma once

#include "core/lock_store.hpp"

namespace dlock {

// Releases the hold of this claim under every owner that may have got it, and leaves the line;
// `queueing` as in its last acquire. Repeating it does no harm. The first error ends it.
Result<void> undo(LockStore& store, const Claim& claim, Queueing queueing, Time limit);

}  // namespace dlock
