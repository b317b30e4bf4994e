// SPDX-License-Identifier: MIT
// dlock's own exit statuses; all others are the child's. The list in the man page and
// tests/docs/options.bats must agree with this enum.
#pragma once

namespace dlock {

enum class ExitStatus : int {
  ok = 0,
  // `inspect -q`: a lock is free; release, forget: nothing to do; force-release: nothing to do, or
  // the user answered no; doctor: errors, or with --strict warnings.
  no = 1,
  usage = 64,        // the command line makes no sense
  unavailable = 69,  // the store cannot be reached or has refused; nothing was run
  busy = 75,         // another holder has the lock
  denied = 77,       // a password or a right is missing or wrong
  config = 78,       // settings, files or URLs make no sense
  lost = 79,         // the lease was lost, and the child, if any, was stopped
  time_up = 124,     // --max-hold or --no-renew stopped the child
  failed = 125,      // dlock itself failed
  not_executable = 126,
  not_found = 127,
};

}  // namespace dlock
