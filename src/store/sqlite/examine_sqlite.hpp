// SPDX-License-Identifier: MIT
// `dlock doctor` for sqlite://: the directory, its file system, the file, and a lock of its own
// there.
#pragma once

#include "base/result.hpp"
#include "store/doctor/finding.hpp"
#include "store/local/local_url.hpp"
#include "store/store_options.hpp"

namespace dlock {

// An error as of SqliteStore::open(). A file that this makes is removed again.
Result<Examination> examine_sqlite(const local::Place& place,
                                   const StoreOptions& options,
                                   const ExamineTerms& terms);

}  // namespace dlock
