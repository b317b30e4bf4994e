// SPDX-License-Identifier: MIT
// The name of this host, in the records of holders and waiters, and in log lines.
// No name service is asked.
#pragma once

#include <string>

namespace dlock {

// Returns the kernel's host name; "?" if there is no name.
std::string host_name();

}  // namespace dlock
