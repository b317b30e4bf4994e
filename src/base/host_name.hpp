// SPDX-License-Identifier: MIT
// The name of this host, for people: in the records of holders and waiters, and in log lines. No
// decision depends on it, and no name service is asked.
#pragma once

#include <string>

namespace dlock {

// As the kernel has it; "?" if it has none.
std::string host_name();

}  // namespace dlock
