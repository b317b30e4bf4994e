// SPDX-License-Identifier: MIT
#include "store/sqlite/database_file.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "store/local/local_file.hpp"
#include "store/local/sharing.hpp"
#include "store/local/trusted_place.hpp"
#include "sys/process_table.hpp"
#include "sys/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace dlock {

namespace {

// Mode of the database; SQLite gives its log the same mode.
constexpr ::mode_t k_file_mode = 0660;  // nothing for others: who can read it can also lock it

// Why open_judged() last refused a file on this thread. It is kept here because SQLite passes on
// only the number of an error.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local std::optional<Error> refused;

Error cannot_keep(Errc code, const std::string& path, const std::string& reason) {
  return {code, "cannot keep locks in " + printable(path) + ": " + reason};
}

// Returns a name for the mount that contains the path (mnt_id, proc(5)); empty: unknown.
std::string mount_of(const std::string& path) {
  const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  const auto info = read_process_file("self/fdinfo/" + std::to_string(place.get()));
  const auto at = info ? info->find("mnt_id:") : std::string::npos;
  return at == std::string::npos ? "" : info->substr(at, info->find('\n', at) - at);
}

// Returns whether the file itself is a mount point, as after a bind mount of the file. nullopt:
// unknown.
std::optional<bool> is_mounted_alone(const std::string& path) {
  struct statx file {};
  const bool told = ::statx(AT_FDCWD, path.c_str(), 0, STATX_TYPE, &file) == 0 &&
                    (file.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
  if (told) return (file.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  // statx(2) does not say so before Linux 5.8, or under a seccomp filter that does not know statx.
  // Then the file's mount is compared with that of its directory.
  const std::string own = mount_of(path);
  if (own.empty()) return {};
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? std::nullopt : std::optional(own != mount_of(real.parent_path()));
}

// Returns an error if the file has, or may have, a second path. SQLite finds the log and its index
// by the path of the file, so two processes with different paths would use different logs.
Result<void> check_single_path(const std::string& path, const struct stat& file) {
  const std::string why =
      ": SQLite keeps its log beside each path, so two jobs could hold one lock; ";
  if (file.st_nlink > 1)
    return cannot_keep(
        Errc::bad_config,
        path,
        "the file has a second name (hard link)" + why + "remove the other name, and use one path");
  const auto alone = is_mounted_alone(path);
  if (!alone)
    return cannot_keep(Errc::bad_config,
                       path,
                       "neither statx(2) nor /proc tells whether the file alone is mounted there" +
                           why + "allow statx, or mount /proc");
  if (*alone)
    return cannot_keep(Errc::bad_config,
                       path,
                       "the file alone is mounted there" + why + "mount its directory instead");
  return {};
}

}  // namespace

int open_judged(const char* path, int flags, int mode) {
  // With O_NONBLOCK, the call does not wait if the path is a FIFO.
  const int fd = ::open(path, flags | O_CLOEXEC | O_NONBLOCK, mode);
  struct stat file {};
  if (fd < 0 || ::fstat(fd, &file) != 0) return fd;
  // Not a file of locks: /dev/urandom, for instance.
  if (S_ISDIR(file.st_mode) || S_ISCHR(file.st_mode)) return fd;
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
  struct stat file {};
  // If the file does not exist, it will be created. If it cannot be looked at, opening it fails
  // with the reason.
  if (::stat(path.c_str(), &file) != 0) return {};
  if (S_ISDIR(file.st_mode))
    return cannot_keep(
        Errc::bad_config,
        path,
        "it is a directory; name a file in it, such as " + printable(path) + "/dlock.db");
  if (!S_ISREG(file.st_mode)) return cannot_keep(Errc::bad_config, path, "it is no regular file");
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
  if (::access(path.c_str(), F_OK) == 0) return {};  // the file exists, and may be readable
  return local::with_advice(
      {local::meaning_of(number), "cannot make " + printable(path) + ": " + errno_text(number)},
      directory_of(path));
}

}  // namespace dlock
