// SPDX-License-Identifier: MIT
#include "store/sqlite/database_file.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "store/local/local_file.hpp"
#include "store/local/sharing.hpp"
#include "sys/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace dlock {

namespace {

constexpr ::mode_t k_file_mode = 0666;  // the umask says who shares locks

Error cannot_keep(Errc code, const std::string& path, const std::string& reason) {
  return {code, "cannot keep locks in " + printable(path) + ": " + reason};
}

// Where every user may make files, one of another user may be a trap.
Result<void> check_owner(const std::string& path, const struct statx& file) {
  if (file.stx_uid == ::geteuid() || file.stx_uid == 0) return {};
  struct stat directory {};
  if (::stat(directory_of(path).c_str(), &directory) != 0) return {};
  if ((directory.st_mode & S_IWOTH) == 0) return {};
  return local::with_advice(
      cannot_keep(
          Errc::denied, path, "it belongs to another user, and every user can make files there"),
      directory_of(path));
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

std::string directory_of(const std::string& path) {
  return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

Result<void> check_database_file(const std::string& path) {
  if (auto checked = local::check_link(path); !checked) return checked;
  struct statx file {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &file) != 0)
    return {};  // it will be ours; or opening it says why
  if (S_ISDIR(file.stx_mode))
    return cannot_keep(
        Errc::bad_config,
        path,
        "it is a directory; name a file in it, such as " + printable(path) + "/dlock.db");
  if (!S_ISREG(file.stx_mode)) return cannot_keep(Errc::bad_config, path, "it is no regular file");
  if (auto checked = check_owner(path, file); !checked) return checked;
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
