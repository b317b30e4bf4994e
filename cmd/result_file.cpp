// SPDX-License-Identifier: MIT
#include "cmd/result_file.hpp"

#include "base/errno_text.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "sys/file_bytes.hpp"

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

int write_to_disk(int fd, std::string_view text) {
  const int failed = write_bytes(fd, text);
  if (failed != 0) return failed;
  return ::fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

Result<ResultFile> ResultFile::prepare(const std::string& path) {
  ResultFile file;
  file.path_ = printable(path);
  const auto bad = [&file](const std::string& why) {
    return Error{Errc::bad_config, "cannot write the result file " + file.path_ + ": " + why};
  };
  const std::size_t slash = path.rfind('/');
  file.name_ = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (file.name_.empty()) return bad("the path must end with the name of a file");
  file.directory_.reset(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!file.directory_) return bad(errno_text(errno));

  struct stat there {};
  const int in = file.directory_.get();
  if (::fstatat(in, file.name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) {
    // The rename in write() would replace a device or a link: /dev/null must not become a file.
    if (!S_ISREG(there.st_mode)) return bad("it exists and is not a regular file");
  } else if (errno != ENOENT) {
    return bad(errno_text(errno));
  }
  const std::string temporary = temporary_name();
  if (!make_file(in, temporary)) return bad(errno_text(errno));
  ::unlinkat(in, temporary.c_str(), 0);
  if (::unlinkat(in, file.name_.c_str(), 0) != 0 && errno != ENOENT) {
    return bad(errno_text(errno));
  }
  return file;
}

Result<void> ResultFile::write(std::string_view text) const {
  const int in = directory_.get();
  const std::string temporary = temporary_name();
  const UniqueFd file = make_file(in, temporary);
  int failed = file ? write_to_disk(file.get(), text) : errno;
  if (failed == 0 && ::renameat(in, temporary.c_str(), in, name_.c_str()) != 0) failed = errno;
  if (failed == 0) return {};
  if (file) ::unlinkat(in, temporary.c_str(), 0);
  return Error{Errc::system, "cannot write the result file " + path_ + ": " + errno_text(failed)};
}

}  // namespace dlock
