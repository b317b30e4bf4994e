// SPDX-License-Identifier: MIT
// `dlock doctor` for sqlite://: examines the directory, its file system and the file, and tries a
// lock of its own (store/doctor/trial.hpp).
#pragma once

#include "base/result.hpp"
#include "store/doctor/finding.hpp"
#include "store/local/local_url.hpp"
#include "store/store_options.hpp"

namespace dlock {

// Examines the store. Returns the errors of SqliteStore::open(). If trying a lock creates the file,
// the file is removed again.
Result<Examination> examine_sqlite(const local::Place& place,
                                   const StoreOptions& options,
                                   const ExamineTerms& terms);

}  // namespace dlock
