// SPDX-License-Identifier: MIT
// Watches for the end of a process, which need not be our child.
#pragma once

#include "base/result.hpp"
#include "sys/unique_fd.hpp"

#include <sys/types.h>

namespace dlock {

// Returns a descriptor that becomes readable when the process ends; -1 if it is already gone.
// Errc::system: the process cannot be watched.
Result<UniqueFd> watch_process(pid_t pid);

}  // namespace dlock
