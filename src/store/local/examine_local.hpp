// SPDX-License-Identifier: MIT
// `dlock doctor` for local://: looks at the directory and its file system, and tries a lock of its
// own.
#pragma once

#include "base/result.hpp"
#include "store/doctor/finding.hpp"
#include "store/local/local_url.hpp"
#include "store/store_options.hpp"

#include <string>
#include <vector>

namespace dlock {

// Returns the findings "directory" and "parents": which users may change the directory of the locks
// and the directories above it. What local::check_place() refuses is a fault here.
std::vector<Finding> judge_place(const std::string& path, bool is_file);
// Returns the finding "file": whether a file belongs to another user, or every user can read it.
// Missing files do not count.
Finding judge_files(const std::string& directory, const std::vector<std::string>& files);
// Returns whether other machines may use the path's file system.
Finding judge_file_system(const std::string& path);

// Examines the store. Errors as for LocalStore::open().
Result<Examination> examine_local(const local::Place& place,
                                  const StoreOptions& options,
                                  const ExamineTerms& terms);

}  // namespace dlock
