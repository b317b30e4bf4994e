// SPDX-License-Identifier: MIT
// `dlock doctor` for local://: the directory, its file system, and a lock of its own there.
#pragma once

#include "base/result.hpp"
#include "store/doctor/finding.hpp"
#include "store/store_options.hpp"

#include <string>
#include <vector>

namespace dlock {

// "directory" and "parents": who may change the directory that keeps the locks, and what is above
// it. As of local::check_place(), whose refusals are errors here.
std::vector<Finding> judge_place(const std::string& path, bool is_file);
// "file": whether one of them is another user's, or every user can read one; those that are missing
// do not count.
Finding judge_files(const std::string& directory, const std::vector<std::string>& files);
// Whether other machines may use its file system.
Finding judge_file_system(const std::string& path);

// What else LocalStore::open() refuses is an error here, too.
Result<Examination> examine_local(const StoreOptions& options, const ExamineTerms& terms);

}  // namespace dlock
