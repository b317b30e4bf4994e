// SPDX-License-Identifier: MIT
// Reads files that decide where dlock connects and what it sends there. A file is opened, then
// checked, then read, so that the checked file is the one that is read. A file that another
// ordinary user could have written is refused: it must belong to root or to us, and neither group
// nor others may write it.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"

#include <optional>
#include <string>

namespace dlock {

struct TrustedFile {
  std::string text;
  // Group or others can read the file: worth a warning if it contains a secret. False for a file
  // that root has put into a folder of root, and on a read-only mount: there the user did not
  // choose the rights.
  bool is_exposed = false;
};

// Reads a file that the caller named; it may be a pipe or a device that belongs to root or us, or
// any descriptor that the caller opened for us (/dev/fd/3, /dev/stdin). Blocks until a FIFO has a
// writer. Errors are Errc::bad_config.
Result<TrustedFile> read_named_file(const std::string& path);

// Reads a file that the caller did not name, at a path where others may have put something: it must
// be a regular file. nullopt only if there is no file (ENOENT, ENOTDIR). Errc::denied: we lack the
// right to open it, or to look for it. Other errors are Errc::bad_config.
Result<std::optional<TrustedFile>> read_usual_file(const std::string& path);

// Checks a file that the caller named and another library will read (a private key), without
// reading it. Returns whether it is exposed (TrustedFile::is_exposed). A file that cannot be opened
// is not checked.
Result<bool> check_named_file(const std::string& path);

// Checks a file that contains no secret (a certificate). Refuses only a FIFO that another user owns
// or can write.
Result<void> check_named_pipe(const std::string& path);

// Reads once more a file that the caller named: its secret may change while dlock runs.
// nullopt: the file cannot be read or trusted now, or is under /dev or /proc: a pipe cannot be read
// twice, and the number of a descriptor may mean another file now. Never blocks on a FIFO.
std::optional<std::string> read_again(const std::string& path);

struct PasswordFile {
  // The first line; not empty. Each login reads the file again. If the file cannot be read then,
  // for example because of its rights, the earlier password is used.
  Secret password;
  bool is_exposed = false;  // as TrustedFile::is_exposed
};
Result<PasswordFile> read_password_file(const std::string& path);

}  // namespace dlock
