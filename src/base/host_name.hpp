// SPDX-License-Identifier: MIT
// The name of this host, for people who have to tell hosts apart: in the records of holders and
// waiters, and in log lines. Nothing is decided by it, and no name service is asked.
#pragma once

#include <string>

namespace dlock {

// As the kernel has it; "?" if it has none.
std::string host_name();

}  // namespace dlock
