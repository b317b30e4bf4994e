// SPDX-License-Identifier: MIT
// Reads files that decide where dlock connects and what it sends there. The file that is checked is
// the opened one, which is then read. A file that another ordinary user could have written is
// refused: it must belong to root or to us, and neither group nor others may write it.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"

#include <optional>
#include <string>

namespace dlock {

struct TrustedFile {
  std::string text;
  // Group or others can read the file, and neither root nor a read-only mount has arranged that:
  // worth a warning if it contains a secret.
  bool is_exposed = false;
};

// Reads a file that the caller named; it may be a pipe or a device that belongs to root or us, or
// any descriptor that the caller opened for us (/dev/fd/3, /dev/stdin). Blocks until a FIFO has a
// writer. Errors are Errc::bad_config.
Result<TrustedFile> read_named_file(const std::string& path);

// Reads a file in a usual place, where others may have put something: it must be a regular file.
// nullopt only if there is no file (ENOENT, ENOTDIR). Errc::denied: we may not look there. Other
// errors are Errc::bad_config.
Result<std::optional<TrustedFile>> read_usual_file(const std::string& path);

// Checks a named file that another library will read (a private key), without reading it. Returns
// whether it is exposed. A file that cannot be opened is not checked.
Result<bool> check_named_file(const std::string& path);

// Checks a named file without a secret (a certificate). Only for a FIFO does the owner matter.
Result<void> check_named_pipe(const std::string& path);

// Reads a named file again, for a secret that may change while we run. nullopt: the file cannot be
// read or trusted now, or it could not be read twice anyway (a pipe, or a descriptor, whose number
// may mean another file now). Never blocks on a FIFO.
std::optional<std::string> read_again(const std::string& path);

struct PasswordFile {
  // The first line; not empty. The file is read again at each login. If that fails, for example
  // because of the file's rights, the earlier password is used.
  Secret password;
  bool is_exposed = false;  // as TrustedFile::is_exposed
};
Result<PasswordFile> read_password_file(const std::string& path);

}  // namespace dlock
