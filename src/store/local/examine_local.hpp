// SPDX-License-Identifier: MIT
// `dlock doctor` for local://: the directory, its file system, and a lock of its own there.
#pragma once

#include "base/result.hpp"
#include "store/doctor/finding.hpp"
#include "store/local/local_url.hpp"
#include "store/store_options.hpp"

#include <string>
#include <vector>

namespace dlock {

// "directory" and "parents": who may change the directory of the locks, and the directories above
// it. What local::check_place() refuses is an error here.
std::vector<Finding> judge_place(const std::string& path, bool is_file);
// "file": whether a file is another user's, or every user can read it; missing files do not count.
Finding judge_files(const std::string& directory, const std::vector<std::string>& files);
// Whether other machines may use its file system.
Finding judge_file_system(const std::string& path);

// An error as of LocalStore::open().
Result<Examination> examine_local(const local::Place& place,
                                  const StoreOptions& options,
                                  const ExamineTerms& terms);

}  // namespace dlock
