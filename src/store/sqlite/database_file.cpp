// SPDX-License-Identifier: MIT
#include "store/sqlite/database_file.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "store/local/local_file.hpp"
#include "store/local/sharing.hpp"
#include "store/local/trusted_place.hpp"
#include "sys/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace dlock {

namespace {

constexpr ::mode_t k_file_mode = 0660;  // who can read a file can lock it; its log has the same

// Of the newest file that was refused; SQLite passes on no more than a number.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local std::optional<Error> refused;

Error cannot_keep(Errc code, const std::string& path, const std::string& reason) {
  return {code, "cannot keep locks in " + printable(path) + ": " + reason};
}

// SQLite finds the log and its index by the path, not by the file.
Result<void> check_single_path(const std::string& path, const struct statx& file) {
  const std::string why =
      ": SQLite keeps its log beside each path, so two jobs could hold one lock; ";
  if (file.stx_nlink > 1)
    return cannot_keep(
        Errc::bad_config,
        path,
        "the file has a second name (hard link)" + why + "remove the other name, and use one path");
  if ((file.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
    return cannot_keep(Errc::bad_config,
                       path,
                       "the file alone is mounted there" + why + "mount its directory instead");
  return {};
}

}  // namespace

int open_judged(const char* path, int flags, int mode) {
  // Somebody may have left a FIFO there.
  const int fd = ::open(path, flags | O_CLOEXEC | O_NONBLOCK, mode);
  struct stat file {};
  if (fd < 0 || ::fstat(fd, &file) != 0) return fd;
  if (S_ISDIR(file.st_mode) || S_ISCHR(file.st_mode)) return fd;  // as /dev/urandom
  const auto fault = local::fault_of_file(file, directory_of(path));
  if (!fault) return fd;
  ::close(fd);
  refused = local::untrusted_file(path, *fault);
  errno = EACCES;
  return -1;
}

std::optional<Error> take_refusal() {
  return std::exchange(refused, std::nullopt);
}

std::string directory_of(const std::string& path) {
  return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

Result<void> check_database_file(const std::string& path) {
  if (auto checked = local::check_place(path, /*is_file=*/true); !checked) return checked;
  struct statx file {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &file) != 0)
    return {};  // it will be ours; or opening it says why
  if (S_ISDIR(file.stx_mode))
    return cannot_keep(
        Errc::bad_config,
        path,
        "it is a directory; name a file in it, such as " + printable(path) + "/dlock.db");
  if (!S_ISREG(file.stx_mode)) return cannot_keep(Errc::bad_config, path, "it is no regular file");
  return check_single_path(path, file);
}

Result<void> make_database_file(const std::string& path) {
  const UniqueFd made(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, k_file_mode));
  const int number = errno;
  struct stat directory {};
  if (made && ::stat(directory_of(path).c_str(), &directory) == 0)
    local::share_new_file(made.get(), directory);
  if (made || number == EEXIST) return {};
  if (::access(path.c_str(), F_OK) == 0) return {};  // it may be read all the same
  return local::with_advice(
      {local::meaning_of(number), "cannot make " + printable(path) + ": " + errno_text(number)},
      directory_of(path));
}

}  // namespace dlock
