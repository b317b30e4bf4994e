// SPDX-License-Identifier: MIT
#include "store/sqlite/bell.hpp"

#include "base/errno_text.hpp"
#include "base/file_stem.hpp"
#include "base/text.hpp"
#include "store/local/sharing.hpp"
#include "store/sqlite/database_file.hpp"
#include "sys/unique_fd.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace dlock {

constexpr ::mode_t k_bell_mode = 0660;

std::string bell_of(const std::string& database, const std::string& id) {
  return database + "-bell-" + file_stem(id, "-_.");
}

Result<FileEvents> make_bell(const std::string& bell) {
  const UniqueFd made(::open(bell.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, k_bell_mode));
  if (!made && errno != EEXIST)
    return Error{Errc::refused, "cannot make " + printable(bell) + ": " + errno_text(errno)};
  struct stat directory {};
  if (made && ::stat(directory_of(bell).c_str(), &directory) == 0)
    local::share_new_file(made.get(), directory);
  return FileEvents::of(bell, IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW);
}

bool has_bell(const std::string& bell) {
  return ::access(bell.c_str(), F_OK) == 0;
}

void ring(const std::string& bell) {
  const bool rang = ::utimensat(AT_FDCWD, bell.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0;
  // We may not write the file of another user, but perhaps its directory. A removal wakes as well.
  if (!rang && errno != ENOENT) ::unlink(bell.c_str());
}

}  // namespace dlock
