// SPDX-License-Identifier: MIT
// The exit statuses that are dlock's own; everything else is the child's. The man page's list and
// tests/docs.bats follow this enum.
#pragma once

namespace dlock {

enum class ExitStatus : int {
  ok = 0,
  no = 1,            // inspect -q: free; force-release: nothing was released
  usage = 64,        // the command line makes no sense
  unavailable = 69,  // the store could not be reached or refused; nothing was run
  busy = 75,         // somebody else has the lock
  denied = 77,       // password or ACL
  config = 78,       // settings, files or URLs make no sense
  lost = 79,         // the lease was lost and the child was stopped for it
  failed = 125,      // dlock itself failed
  not_executable = 126,
  not_found = 127,
};

}  // namespace dlock
