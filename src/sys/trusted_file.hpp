// SPDX-License-Identifier: MIT
// Files that decide where dlock connects and what it sends there. What was opened is what is judged
// and read. A file that another ordinary user could have written is refused: one that belongs to
// neither root nor us, or that its group or others can write.
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

// A file that a caller named: also a pipe or a device, of root's or ours, and whatever the caller
// has opened for us (/dev/fd/3, /dev/stdin). Blocks until a FIFO has a writer. Errc::bad_config.
Result<TrustedFile> read_named_file(const std::string& path);

// A file of a usual place, where anybody may have put something: a regular file, or an error.
// Nothing only if there is none (ENOENT, ENOTDIR): one that cannot be looked for may be there
// (Errc::denied). Else Errc::bad_config.
Result<std::optional<TrustedFile>> read_usual_file(const std::string& path);

// Of a named file that others will read, as a private key: the same, without reading it. True: it
// is exposed. One that cannot be opened is not judged.
Result<bool> check_named_file(const std::string& path);

// The same of a file without a secret, as a certificate, which may be anybody's, but not his FIFO.
Result<void> check_named_pipe(const std::string& path);

// What is at `path` now of a file that was named before, for a secret that may change while we run.
// Nothing: it cannot be read or is not trusted at the moment, or was no file to be read twice (a
// pipe; a descriptor, whose number may be another file's by then). Never blocks on a FIFO.
std::optional<std::string> read_again(const std::string& path);

struct PasswordFile {
  // The first line, not empty. It is read anew at each login; while that fails, also by the rights,
  // it stays what it was.
  Secret password;
  bool is_exposed = false;  // as above
};
Result<PasswordFile> read_password_file(const std::string& path);

}  // namespace dlock
