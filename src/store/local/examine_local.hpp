// SPDX-License-Identifier: MIT
// `dlock doctor` for local://: the directory, its file system, and a lock of its own there.
#pragma once

#include "base/result.hpp"
#include "store/finding.hpp"
#include "store/store_options.hpp"

#include <string>

namespace dlock {

// Who may change what is in the directory; whether other machines may use its file system.
Finding judge_directory(const std::string& path);
Finding judge_file_system(const std::string& path);

// What LocalStore::open() refuses is an error here, too.
Result<Examination> examine_local(const StoreOptions& options, const ExamineTerms& terms);

}  // namespace dlock
