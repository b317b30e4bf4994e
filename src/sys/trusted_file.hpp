// SPDX-License-Identifier: MIT
// Files that decide where dlock connects and what it sends there. The opened file is the one that
// is judged and read. A file that another ordinary user could have written is refused: a file that
// belongs to neither root nor us, or that its group or others can write.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"

#include <optional>
#include <string>

namespace dlock {

struct TrustedFile {
  std::string text;
  // Group or others can read it, and neither root nor a read-only mount has arranged that: worth a
  // warning if there is a secret in it.
  bool is_exposed = false;
};

// Reads a file that the caller named: also a pipe or a device of root's or ours, and any descriptor
// that the caller opened for us (/dev/fd/3, /dev/stdin). Blocks until a FIFO has a writer.
// Errc::bad_config.
Result<TrustedFile> read_named_file(const std::string& path);

// Reads a file in a usual place, where others may have put something: a regular file, or an error.
// Nothing only if there is no file (ENOENT, ENOTDIR). Errc::denied: the place cannot be looked at.
// Else Errc::bad_config.
Result<std::optional<TrustedFile>> read_usual_file(const std::string& path);

// Judges, without reading it, a named file that others will read, as a private key. True: it is
// exposed. A file that cannot be opened is not judged.
Result<bool> check_named_file(const std::string& path);

// Judges a named file without a secret, as a certificate: any owner will do, but not for a FIFO.
Result<void> check_named_pipe(const std::string& path);

// The present content of a file that was named before, for a secret that may change while we run.
// Nothing: it cannot be read or is not trusted now, or it was not a file that can be read twice (a
// pipe; a descriptor, whose number may mean another file by then). Never blocks on a FIFO.
std::optional<std::string> read_again(const std::string& path);

struct PasswordFile {
  // The first line, not empty. It is read again at each login; if that fails, also by the file's
  // rights, the earlier password stays.
  Secret password;
  bool is_exposed = false;  // as above
};
Result<PasswordFile> read_password_file(const std::string& path);

}  // namespace dlock
