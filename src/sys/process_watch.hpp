// SPDX-License-Identifier: MIT
// Watches the end of a process, which need not be our child.
#pragma once

#include "base/result.hpp"
#include "sys/unique_fd.hpp"

#include <sys/types.h>

namespace dlock {

// Readable once the process has ended; -1 if it is gone already. Errc::system if it cannot be
// watched.
Result<UniqueFd> watch_process(pid_t pid);

}  // namespace dlock
