// SPDX-License-Identifier: MIT
#include "sys/trusted_file.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "sys/file_bytes.hpp"
#include "sys/unique_fd.hpp"

#include <climits>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <utility>

namespace dlock {

namespace {

constexpr std::size_t k_most_bytes = 64U << 10U;
// The flags for opening a file that is not checked yet. They do not block: otherwise the open of a
// FIFO of another user would wait until the FIFO has a writer.
constexpr int k_look_first = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
constexpr mode_t k_others_write = S_IWGRP | S_IWOTH;
constexpr mode_t k_others_read = S_IRGRP | S_IROTH;

Error bad(const std::string& path, const std::string& why) {
  return {Errc::bad_config, printable(path) + ": " + why};
}

// Returns the number in a path like /dev/fd/3: a descriptor that the caller has opened for us.
std::optional<int> descriptor_of(std::string_view path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  for (const std::string_view place : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(place)) continue;
    const std::string_view digits = path.substr(place.size());
    int fd = -1;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), fd);
    if (status == std::errc() && end == digits.data() + digits.size() && fd >= 0) return fd;
  }
  return {};
}

Result<void> check_owner(const std::string& path, const struct stat& status) {
  if (status.st_uid == 0 || status.st_uid == ::geteuid()) return {};
  return bad(path,
             "is owned by user " + std::to_string(status.st_uid) +
                 ", neither root nor you: not read; chown it");
}

Result<void> check_writers(const std::string& path, const struct stat& status) {
  if (auto owner = check_owner(path, status); !owner) return owner;
  if ((status.st_mode & k_others_write) == 0) return {};
  return bad(path, "can be written by others: not read; chmod go-w it");
}

// Returns whether only root can create, replace or remove files in the file's folder.
bool only_root_writes_folder_of(int fd) {
  std::array<char, PATH_MAX> space{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = ::readlink(link.c_str(), space.data(), space.size());
  if (size <= 0) return false;
  const std::string path(space.data(), static_cast<std::size_t>(size));
  const std::string folder = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  struct stat status {};
  return ::stat(folder.c_str(), &status) == 0 && status.st_uid == 0 &&
         (status.st_mode & k_others_write) == 0;
}

bool is_exposed(int fd, const struct stat& status) {
  if (!S_ISREG(status.st_mode) || (status.st_mode & k_others_read) == 0) return false;
  struct statvfs mount {};
  if (::fstatvfs(fd, &mount) == 0 && (mount.f_flag & ST_RDONLY) != 0) return false;
  return status.st_uid != 0 || !only_root_writes_folder_of(fd);
}

Result<TrustedFile> read_all(const std::string& path, int fd, const struct stat& status) {
  TrustedFile file{.text = {}, .is_exposed = is_exposed(fd, status)};
  const int failed = read_bytes(fd, k_most_bytes, file.text);
  if (failed != 0) return bad(path, "cannot read: " + errno_text(failed));
  if (file.text.size() > k_most_bytes) return bad(path, "is larger than 64 KiB");
  return file;
}

// Returns an error unless the file belongs to root or us. A regular file or a FIFO must also not be
// writable by others; for a device the owner is enough. A pipe or device that the caller opened for
// us (/dev/fd/3) may belong to anyone.
Result<void> check_named(const std::string& path, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return bad(path, "is a directory");
  if (S_ISREG(status.st_mode)) return check_writers(path, status);
  if (descriptor_of(path)) return {};
  return S_ISFIFO(status.st_mode) ? check_writers(path, status) : check_owner(path, status);
}

// Waits for the first writer of a FIFO; allowed here because its owner has been checked.
void wait_for_writer(int fd, const struct stat& status) {
  ::fcntl(fd, F_SETFL, O_RDONLY);
  if (!S_ISFIFO(status.st_mode)) return;
  pollfd ready{fd, POLLIN, 0};
  while (::poll(&ready, 1, -1) < 0 && errno == EINTR) {
  }
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

}  // namespace

Result<TrustedFile> read_named_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), k_look_first));
  const int failed = errno;
  const bool opened = static_cast<bool>(fd);
  // The open fails for /dev/fd/3 if descriptor 3 is a socket or was opened with rights that we do
  // not have. The descriptor itself can be read nevertheless.
  if (const auto given = descriptor_of(path); !opened && given) {
    fd.reset(::fcntl(*given, F_DUPFD_CLOEXEC, 0));
    if (fd) ::lseek(fd.get(), 0, SEEK_SET);
  }
  if (!fd) return bad(path, "cannot open: " + errno_text(failed));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return bad(path, errno_text(errno));
  if (auto good = check_named(path, status); !good) return good.error();
  if (opened) wait_for_writer(fd.get(), status);
  return read_all(path, fd.get(), status);
}

Result<void> check_named_pipe(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return {};
  return check_named(path, status);
}

// Opens the file with O_PATH: otherwise we would be a reader of a FIFO, which its writer would
// notice.
Result<bool> check_named_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return false;
  if (auto good = check_named(path, status); !good) return good.error();
  return is_exposed(fd.get(), status);
}

Result<std::optional<TrustedFile>> read_usual_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), k_look_first));
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return std::optional<TrustedFile>();
  if (!fd) {
    const Errc code = errno == EACCES ? Errc::denied : Errc::bad_config;
    return Error{code, printable(path) + ": cannot open: " + errno_text(errno)};
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return bad(path, errno_text(errno));
  if (!S_ISREG(status.st_mode)) return bad(path, "is not a regular file");
  // The owner of a link chooses the file, so the link's owner is checked too.
  struct stat link {};
  if (::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode))
    if (auto good = check_owner(path, link); !good) return good.error();
  if (auto good = check_writers(path, status); !good) return good.error();
  auto file = read_all(path, fd.get(), status);
  if (!file) return file.error();
  return std::optional(std::move(*file));
}

std::optional<std::string> read_again(const std::string& path) {
  if (path.starts_with("/dev/") || path.starts_with("/proc/")) return std::nullopt;
  auto now = read_usual_file(path);
  if (!now || !*now) return std::nullopt;
  return std::move((*now)->text);
}

Result<PasswordFile> read_password_file(const std::string& path) {
  auto file = read_named_file(path);
  if (!file) return file.error();
  std::string password = first_line(file->text);
  if (password.empty()) return bad(path, "the first line, which must be the password, is empty");
  const auto newest = [path]() -> std::optional<std::string> {
    const auto text = read_again(path);
    return text ? std::optional(first_line(*text)) : std::nullopt;
  };
  return PasswordFile{.password = Secret(std::move(password), newest),
                      .is_exposed = file->is_exposed};
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): std::function frees it

}  // namespace dlock
