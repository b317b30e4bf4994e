// SPDX-License-Identifier: MIT
#include "store/local/local_file.hpp"

#include "base/errno_text.hpp"
#include "base/file_stem.hpp"
#include "base/text.hpp"
#include "store/local/file_system.hpp"
#include "store/local/sharing.hpp"
#include "store/local/trusted_place.hpp"
#include "sys/file_bytes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace dlock::local {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t k_largest_file = std::size_t{4} * 1024 * 1024;
// Other users get no right, because a user who can read the file can also keep its flock(2).
constexpr ::mode_t k_file_mode = 0660;
constexpr int k_safe_flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// Returns an error such as "cannot <act> /var/lib/dlock/x.json: permission denied".
Error failed(std::string_view act, const std::string& path, int number = errno) {
  return {meaning_of(number),
          "cannot " + std::string(act) + ' ' + printable(path) + ": " + errno_text(number)};
}

std::string full_path(const FileAt& file) {
  return file.path + '/' + file.name;
}

// Returns the error for a directory that does not exist or may not be used.
Error cannot_open(const std::string& path) {
  Error error = failed("open the lock directory", path);
  struct stat status {};
  if (error.code == Errc::unavailable) {
    error.text +=
        "; make it, for one user: mkdir -m 700 DIRECTORY, for a group: "
        "install -d -m 2770 -g GROUP DIRECTORY";
  }
  if (error.code != Errc::denied || ::stat(path.c_str(), &status) != 0) return error;
  error.text += "; it has " + rights_of(status);
  return with_advice(std::move(error), path);
}

Result<void> check_file_system(const UniqueFd& fd, const std::string& path) {
  struct statfs status {};
  if (::fstatfs(fd.get(), &status) != 0) return failed("look at the file system of", path);
  const std::string_view shared = shared_file_system(static_cast<std::uint32_t>(status.f_type));
  if (shared.empty()) return {};
  return Error{Errc::bad_config,
               "cannot keep locks in " + printable(path) + ": it is on " + std::string(shared) +
                   ", which other machines may use too, and a local lock does not exclude them; "
                   "use redis://HOST, or add ?shared=no to the URL if only this machine uses it"};
}

void share(const UniqueFd& made, const FileAt& file) {
  struct stat directory {};
  if (::fstat(file.directory, &directory) == 0) share_new_file(made.get(), directory);
}

Result<void> check_file(const UniqueFd& fd, const FileAt& file) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return failed("look at", full_path(file));
  const auto fault = fault_of_file(status, file.path);
  if (!fault) return {};
  return untrusted_file(full_path(file), *fault);
}

Result<UniqueFd> open_or_make(const FileAt& file, int flags) {
  // Opens the file without O_CREAT first. With O_CREAT, in a directory with the sticky bit, the
  // kernel refuses files of other users (fs.protected_regular). If the file may not be written, it
  // is opened for reading, which is enough for flock(2).
  for (int attempt = 0; attempt < 3; ++attempt) {
    UniqueFd fd(::openat(file.directory, file.name.c_str(), O_RDWR | flags));
    if (!fd && errno == EACCES) {
      fd.reset(::openat(file.directory, file.name.c_str(), O_RDONLY | flags));
    }
    if (!fd && errno == ENOENT) {
      fd.reset(::openat(
          file.directory, file.name.c_str(), O_RDWR | O_CREAT | O_EXCL | flags, k_file_mode));
      if (!fd && errno == EEXIST) continue;  // another process has created the file meanwhile
      if (fd) share(fd, file);
    }
    if (!fd) return with_advice(failed("open", full_path(file)), file.path);
    if (auto checked = check_file(fd, file); !checked) return checked.error();
    return fd;
  }
  return failed("open", full_path(file), ESTALE);
}

// Sleeps for the time. Returns false if the interrupt has ended the sleep.
bool slept(Duration time, const Interrupt* interrupt) {
  pollfd wait = polled(interrupt);
  const int n = ::poll(&wait, 1, static_cast<int>(std::max(to_ms(time), 1LL)));
  return n <= 0 || !ends_call(interrupt, wait);
}

// Takes the flock(2) of a file. Tries, and tries again after 1, 2, then always 4 ms: every process
// keeps this lock for microseconds only. A blocking call of flock(2) could have no limit, and only
// a signal could wake it.
Result<void> flock_within(const FileAt& file,
                          const UniqueFd& fd,
                          Time limit,
                          const Interrupt* interrupt) {
  Duration step = 1ms;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failed("lock", full_path(file));
    const Time now = BootClock::now();
    if (now >= limit) {
      return Error{
          Errc::timed_out,
          "cannot lock " + printable(full_path(file)) + ": another process has locked the file"};
    }
    if (!slept(std::min(step, limit - now), interrupt)) {
      return Error{Errc::cancelled, "cannot lock " + printable(full_path(file)) + ": interrupted"};
    }
    step = std::min<Duration>(step * 2, 4ms);
  }
  return {};
}

}  // namespace

Errc meaning_of(int number) {
  switch (number) {
    case EACCES:
    case EPERM:
      return Errc::denied;
    case ENOENT:
    case EIO:
    case ESTALE:
      return Errc::unavailable;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Errc::system;
    default:  // EROFS, ENOSPC, EDQUOT, ENOTDIR, ELOOP, …: the user must repair the cause
      return Errc::refused;
  }
}

std::string file_stem(std::string_view name) {
  // The character '.' is encoded, too. So no file is named "..", is hidden, or ends like a file of
  // another kind.
  return dlock::file_stem(name, "-_");
}

Result<UniqueFd> open_directory(const Place& directory, bool made_if_missing) {
  const std::string& path = directory.path;
  if (auto checked = check_place(path, /*is_file=*/false); !checked) return checked.error();
  // On a read-only file system mkdir(2) fails with EROFS even if the directory exists.
  if (made_if_missing && ::mkdir(path.c_str(), 0700) != 0) {
    const int number = errno;
    if (number != EEXIST && (number != EROFS || ::access(path.c_str(), F_OK) != 0))
      return failed("make the lock directory", path, number);
  }
  // Checks the path again, because another user may have made the directory since the first check.
  if (made_if_missing) {
    if (auto checked = check_place(path, /*is_file=*/false); !checked) return checked.error();
  }
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return cannot_open(path);
  if (!directory.unshared) {
    if (auto checked = check_file_system(fd, path); !checked) return checked.error();
  }
  return fd;
}

FileLock::~FileLock() {
  if (fd_) ::flock(fd_.get(), LOCK_UN);
}

bool FileLock::is_current(const FileAt& file) const {
  struct stat ours {};
  struct stat named {};
  if (::fstat(fd_.get(), &ours) != 0 ||
      ::fstatat(file.directory, file.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
    return false;
  }
  return ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

Result<FileLock> lock_file(const FileAt& file, Time limit, const Interrupt* interrupt) {
  for (;;) {
    auto fd = open_or_make(file, k_safe_flags);
    if (!fd) return fd.error();
    if (auto locked = flock_within(file, *fd, limit, interrupt); !locked) return locked.error();
    FileLock lock(std::move(*fd));
    if (lock.is_current(file)) return lock;
    if (BootClock::now() >= limit) {
      return Error{Errc::timed_out,
                   "cannot lock " + printable(full_path(file)) + ": the file keeps being replaced"};
    }
  }
}

Result<std::optional<std::string>> read_file(const FileAt& file) {
  const UniqueFd fd(::openat(file.directory, file.name.c_str(), O_RDONLY | k_safe_flags));
  if (!fd && errno == ENOENT) return std::optional<std::string>();
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0)
    return with_advice(failed("read", full_path(file)), file.path);
  if (!S_ISREG(status.st_mode) || static_cast<std::uintmax_t>(status.st_size) > k_largest_file) {
    return Error{Errc::refused, "cannot read " + printable(full_path(file)) + ": not a lock file"};
  }
  if (const auto fault = fault_of_file(status, file.path))
    return untrusted_file(full_path(file), *fault);
  std::string content;
  errno = read_bytes(fd.get(), k_largest_file, content);
  if (errno != 0) return failed("read", full_path(file));
  return std::optional(std::move(content));
}

Result<UniqueFd> replace_file(const FileAt& file, std::string_view content) {
  // read_file() would refuse such a file, and the lock could not be used any more.
  if (content.size() > k_largest_file) {
    return Error{Errc::refused,
                 "cannot write " + printable(full_path(file)) + ": the lock has too many holders"};
  }
  const FileAt aside{file.directory, file.path, file.name + ".new"};
  // A process that was killed may have left this file. No process uses the file now, because this
  // process has the file lock.
  ::unlinkat(aside.directory, aside.name.c_str(), 0);
  const UniqueFd fd(::openat(aside.directory,
                             aside.name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | k_safe_flags,
                             k_file_mode));
  if (!fd) return with_advice(failed("write", full_path(aside)), file.path);
  share(fd, file);
  Result<void> written;
  errno = write_bytes(fd.get(), content);
  if (errno != 0) written = failed("write", full_path(aside));
  UniqueFd old(::openat(file.directory, file.name.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
  if (written &&
      ::renameat(aside.directory, aside.name.c_str(), file.directory, file.name.c_str()) != 0) {
    written = with_advice(failed("replace", full_path(file)), file.path);
  }
  if (!written) {
    ::unlinkat(aside.directory, aside.name.c_str(), 0);
    return written.error();
  }
  return old;
}

Result<std::vector<std::string>> entries(const std::string& path, std::string_view suffix) {
  std::vector<std::string> stems;
  std::error_code error;
  std::filesystem::directory_iterator at(path, error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      stems.push_back(name.substr(0, name.size() - suffix.size()));
    }
  }
  if (error) return failed("list", path, error.value());
  return stems;
}

}  // namespace dlock::local
