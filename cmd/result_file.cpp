// SPDX-License-Identifier: MIT
#include "cmd/result_file.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "sys/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace dlock {

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
  if (const int failed = try_new_file(in); failed != 0) return bad(errno_text(failed));
  if (::unlinkat(in, file.name_.c_str(), 0) != 0 && errno != ENOENT) {
    return bad(errno_text(errno));
  }
  return file;
}

Result<void> ResultFile::write(std::string_view text) const {
  const int failed =
      replace_file({.directory = directory_.get(), .name = name_, .to_disk = true}, text);
  if (failed == 0) return {};
  return Error{Errc::system, "cannot write the result file " + path_ + ": " + errno_text(failed)};
}

}  // namespace dlock
