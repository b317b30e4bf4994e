// SPDX-License-Identifier: MIT
// `dlock doctor` for local://: the directory, its file system, and a lock of its own there.
#pragma once

#include "base/result.hpp"
#include "store/finding.hpp"
#include "store/store_options.hpp"

namespace dlock {

// What LocalStore::open() refuses is an error here, too.
Result<Examination> examine_local(const StoreOptions& options, const ExamineTerms& terms);

}  // namespace dlock
