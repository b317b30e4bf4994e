// SPDX-License-Identifier: MIT
// The files of a SqliteStore: whether they can keep locks, how the database is created, and which
// files SQLite may open. SqliteDatabase::has_moved() notices later changes.
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string>

namespace dlock {

// Returns the directory that contains the file.
std::string directory_of(const std::string& path);

// Checks whether the file can keep locks; a missing file is no error. Errc::denied: another user
// can replace the file (local/trusted_place.hpp). Errc::bad_config: not a regular file, or a file
// with two paths: SQLite keeps a log and an index for each path, so two processes could not see
// each other's locks.
Result<void> check_database_file(const std::string& path);

// Creates the file if it is missing; SQLite would create it for the owner alone.
Result<void> make_database_file(const std::string& path);

// Replaces open(2) in SQLite, so that exactly the opened file is checked. Returns EACCES for a
// database, log, index or journal that another user can change: that user could let two jobs run
// under one lock, or crash dlock by truncating the index.
int open_judged(const char* path, int flags, int mode);
// Returns and forgets the reason why open_judged() last refused a file on this thread
// (Errc::denied). SQLite itself passes on only an error number.
std::optional<Error> take_refusal();

}  // namespace dlock
