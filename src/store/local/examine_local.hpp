// SPDX-License-Identifier: MIT
// `dlock doctor` for local://: examines the directory and its file system, and tries a lock of its
// own (store/doctor/trial.hpp).
#pragma once

#include "base/result.hpp"
#include "store/doctor/finding.hpp"
#include "store/local/local_url.hpp"
#include "store/store_options.hpp"

#include <string>
#include <vector>

namespace dlock {

// Returns the findings "directory" and "parents": which users may change the directory of the
// locks, and the directories above it. If local::check_place() refuses the path, a finding says so.
std::vector<Finding> judge_place(const std::string& path, bool is_file);
// Returns the finding "file": whether one of the files belongs to another user, or can be read by
// every user. A file that does not exist does not count.
Finding judge_files(const std::string& directory, const std::vector<std::string>& files);
// Judges whether other machines may use the file system of the path.
Finding judge_file_system(const std::string& path);

// Examines the store. Returns the errors of LocalStore::open().
Result<Examination> examine_local(const local::Place& place,
                                  const StoreOptions& options,
                                  const ExamineTerms& terms);

}  // namespace dlock
