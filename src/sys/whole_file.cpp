// SPDX-License-Identifier: MIT
#include "sys/whole_file.hpp"

#include "base/random.hpp"
#include "sys/file_bytes.hpp"
#include "sys/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace dlock {

namespace {

constexpr mode_t k_mode = 0644;  // reduced by the umask

UniqueFd make_file(int directory, const std::string& name) {
  constexpr int k_new = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  return UniqueFd(::openat(directory, name.c_str(), k_new, k_mode));
}

// Returns a unique name, even if several machines share the directory.
std::string temporary_name() {
  return ".dlock-" + random_hex(8);
}

int fill(int fd, const WholeFile& file, std::string_view text) {
  if (const int failed = write_bytes(fd, text); failed != 0) return failed;
  if (file.for_all && ::fchmod(fd, k_mode) != 0) return errno;
  return !file.to_disk || ::fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

int replace_file(const WholeFile& file, std::string_view text) {
  const std::string temporary = temporary_name();
  const UniqueFd made = make_file(file.directory, temporary);
  if (!made) return errno;
  int failed = fill(made.get(), file, text);
  if (failed == 0 &&
      ::renameat(file.directory, temporary.c_str(), file.directory, file.name.c_str()) != 0) {
    failed = errno;
  }
  if (failed != 0) ::unlinkat(file.directory, temporary.c_str(), 0);
  return failed;
}

int try_new_file(int directory) {
  const std::string temporary = temporary_name();
  if (!make_file(directory, temporary)) return errno;
  ::unlinkat(directory, temporary.c_str(), 0);
  return 0;
}

}  // namespace dlock
