// SPDX-License-Identifier: MIT
// Undoes a claim whose answer was lost: it may have been granted, to its own owner or an
// ancestor's.
#pragma once

#include "core/lock_store.hpp"

namespace dlock {

// Releases the claim's hold under every owner that may have got it, and leaves the line.
// `queueing`: that of the claim's last acquire. Repeating it does no harm. Stops at the first
// error.
Result<void> undo(LockStore& store, const Claim& claim, Queueing queueing, Time limit);

}  // namespace dlock
