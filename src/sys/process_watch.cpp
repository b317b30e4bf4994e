// SPDX-License-Identifier: MIT
#include "sys/process_watch.hpp"

#include "base/errno_text.hpp"
#include "sys/pidfd.hpp"

#include <unistd.h>

#include <cerrno>

namespace dlock {

Result<UniqueFd> watch_process(pid_t pid) {
  UniqueFd process(::pidfd_open(pid, 0));
  if (process || errno == ESRCH) return process;
  return Error{Errc::system,
               "cannot watch process " + std::to_string(pid) + ": " + errno_text(errno)};
}

}  // namespace dlock
