// SPDX-License-Identifier: MIT
// dlock's own exit statuses; all others are the child's. The man page's list and
// tests/docs/options.bats follow this enum.
#pragma once

namespace dlock {

enum class ExitStatus : int {
  ok = 0,
  no = 1,      // inspect -q: free; release, force-release, forget: nothing to do; doctor: errors
  usage = 64,  // the command line makes no sense
  unavailable = 69,  // the store could not be reached or refused; nothing was run
  busy = 75,         // another holder has the lock
  denied = 77,       // password or ACL
  config = 78,       // settings, files or URLs make no sense
  lost = 79,         // the lease was lost, and the child, if any, was stopped
  time_up = 124,     // --max-hold or an unrenewed lease ended, and the child was stopped
  failed = 125,      // dlock itself failed
  not_executable = 126,
  not_found = 127,
};

}  // namespace dlock
