// SPDX-License-Identifier: MIT
// The files of a SqliteStore: whether locks can be kept there, how the database is made, and what
// SQLite may open. What is changed afterwards is noticed by SqliteDatabase::has_moved().
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string>

namespace dlock {

// The directory that the file is in.
std::string directory_of(const std::string& path);

// A file that is missing is no error. Errc::denied: another user may change the place of the file
// (local/trusted_place.hpp). Errc::bad_config: no regular file, or one that is reached by two
// paths, where each has a log and an index of its own, so that two processes would not see each
// other's locks.
Result<void> check_database_file(const std::string& path);

// Makes the file if it is missing: SQLite itself makes it for the owner alone.
Result<void> make_database_file(const std::string& path);

// In place of open(2) for SQLite, so that what it has opened is what is judged: EACCES for a
// database, a log, an index or a journal that another user can change, who could let two jobs run
// under one lock, or end us by cutting the index.
int open_judged(const char* path, int flags, int mode);
// Why the newest of this thread was refused, once: Errc::denied. SQLite passes on only the number.
std::optional<Error> take_refusal();

}  // namespace dlock
