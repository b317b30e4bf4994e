// SPDX-License-Identifier: MIT
#include "sys/file_bytes.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace dlock {

int read_bytes(int fd, std::size_t most, std::string& text) {
  std::array<char, 4096> buffer{};
  while (text.size() <= most) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return 0;
}

int write_bytes(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

}  // namespace dlock
