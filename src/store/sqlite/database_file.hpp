// SPDX-License-Identifier: MIT
// The file of a SqliteStore, before SQLite opens it: whether locks can be kept there, and how it is
// made. It looks once; what is changed afterwards is noticed by SqliteDatabase::has_moved().
#pragma once

#include "base/result.hpp"

#include <string>

namespace dlock {

// The directory that the file is in.
std::string directory_of(const std::string& path);

// A file that is missing is no error. Errc::denied: the trap of another user. Errc::bad_config: no
// regular file, or one that is reached by two paths, where each has a log and an index of its own,
// so that two processes would not see each other's locks.
Result<void> check_database_file(const std::string& path);

// Makes the file if it is missing: SQLite itself makes it for the owner alone.
Result<void> make_database_file(const std::string& path);

}  // namespace dlock
