// SPDX-License-Identifier: MIT
// The name of this host, for display: in the records of holders and waiters, and in log lines. No
// decision depends on it, and no name service is asked.
#pragma once

#include <string>

namespace dlock {

// The kernel's host name; "?" if it has no name.
std::string host_name();

}  // namespace dlock
