// SPDX-License-Identifier: MIT
// The files of a SqliteStore: tests whether they can keep locks, creates the database, and decides
// which files SQLite may open. Later changes are noticed by SqliteDatabase::has_moved().
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string>

namespace dlock {

// Returns the directory that contains the file.
std::string directory_of(const std::string& path);

// Checks whether the file can keep locks. A file that does not exist is no error. Errc::denied:
// another user can replace the file (local/trusted_place.hpp). Errc::bad_config: it is not a
// regular file, or it has two paths. SQLite keeps a log and an index for each path, so processes
// with different paths could not see each other's locks.
Result<void> check_database_file(const std::string& path);

// Creates the file if it does not exist. SQLite itself would create it for its owner alone.
Result<void> make_database_file(const std::string& path);

// Opens a file for SQLite, in place of open(2), so that exactly the opened file is checked. Returns
// -1 with EACCES if another user can change the file (the database, its log, its index or a
// journal). That user could let two jobs run under one lock, or crash dlock by truncating the
// index.
int open_judged(const char* path, int flags, int mode);
// Returns why open_judged() last refused a file on this thread (Errc::denied), and forgets it.
// SQLite itself passes on only the number of an error.
std::optional<Error> take_refusal();

}  // namespace dlock
