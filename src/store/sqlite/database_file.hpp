// SPDX-License-Identifier: MIT
// The files of a SqliteStore: whether locks can be kept there, how the database is made, and which
// files SQLite may open. SqliteDatabase::has_moved() notices later changes.
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string>

namespace dlock {

// The directory that the file is in.
std::string directory_of(const std::string& path);

// A missing file is no error. Errc::denied: another user may change the place of the file
// (local/trusted_place.hpp). Errc::bad_config: not a regular file, or a file with two paths: each
// path has a log and an index of its own, so two processes would not see each other's locks.
Result<void> check_database_file(const std::string& path);

// Makes the file if it is missing: SQLite itself makes it for the owner alone.
Result<void> make_database_file(const std::string& path);

// Replaces open(2) for SQLite, so that the opened file is the one that is judged: EACCES for a
// database, log, index or journal that another user can change: that user could let two jobs run
// under one lock, or end us by cutting the index.
int open_judged(const char* path, int flags, int mode);
// Returns and forgets this thread's newest refusal: Errc::denied. SQLite passes on only a number.
std::optional<Error> take_refusal();

}  // namespace dlock
