// SPDX-License-Identifier: MIT
#include "sys/process_watch.hpp"

#include "base/errno_text.hpp"
#include "sys/pidfd.hpp"
#include "sys/process_table.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace dlock {

Result<UniqueFd> watch_process(pid_t pid) {
  UniqueFd process(::pidfd_open(pid, 0));
  if (process || errno == ESRCH) return process;
  return Error{Errc::system,
               "cannot watch process " + std::to_string(pid) + ": " + errno_text(errno)};
}

std::string boot_id() {
  const std::string text = read_process_file("sys/kernel/random/boot_id").value_or("");
  return text.substr(0, text.find('\n'));
}

std::string pid_space() {
  const std::string boot = boot_id();
  std::array<char, 64> space{};
  const ssize_t n = ::readlink("/proc/self/ns/pid", space.data(), space.size());
  if (boot.empty() || n <= 0) return "";
  return boot + ' ' + std::string(space.data(), static_cast<std::size_t>(n));
}

}  // namespace dlock
