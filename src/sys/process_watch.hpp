// SPDX-License-Identifier: MIT
// The end of a process that need not be our child, and where the number of a process is the same
// process.
#pragma once

#include "base/result.hpp"
#include "sys/unique_fd.hpp"

#include <sys/types.h>

#include <string>

namespace dlock {

// Readable once that process, ours or not, has ended; -1 if it is gone already. Errc::system if it
// cannot be watched.
Result<UniqueFd> watch_process(pid_t pid);

// Tells this run of the kernel from every other: BootClock starts at zero in each. Empty if it
// cannot be read.
std::string boot_id();

// This boot and our pid namespace: where the number of a process is the same process. Empty if
// that cannot be told.
std::string pid_space();

}  // namespace dlock
