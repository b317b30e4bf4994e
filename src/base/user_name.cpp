// SPDX-License-Identifier: MIT
#include "base/user_name.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace dlock {

// getpwuid(3) is not used: it loads libraries at run time (nsswitch.conf(5)), which a static binary
// cannot do.
std::string user_name() {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen("/etc/passwd", "re"), close);
  const uid_t id = ::geteuid();
  while (file) {
    const passwd* const entry = ::fgetpwent(file.get());
    if (entry == nullptr) break;
    if (entry->pw_uid == id) return entry->pw_name;
  }
  return std::to_string(id);
}

}  // namespace dlock
