// SPDX-License-Identifier: MIT
// What a run that held the lock leaves in the store when it ends: how the hold is released, for how
// long its name stays taken and its success is remembered, and what those who look later read.
#pragma once

#include "core/lease_keeper.hpp"
#include "core/release_loop.hpp"
#include "core/run_words.hpp"

namespace dlock {

// The run, after its command has ended or could not be started.
struct EndedRun {
  const Outcome& outcome;
  const LeaseKeeper& keeper;
  bool lease_over = false;  // the lease could not be kept, and the user was told
  Time granted_at;
  Duration waited{};
};

// As in RunTerms.
struct EndTerms {
  Duration min_hold{};
  Duration once_per{};
  Duration keep_last{};
};

// Returns how the hold is to be released. min_hold keeps the name only if the hold is not lost and
// its command has started.
ReleaseOrder release_after(const EndedRun& run, const EndTerms& terms);

}  // namespace dlock
