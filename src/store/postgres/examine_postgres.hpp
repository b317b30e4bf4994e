// SPDX-License-Identifier: MIT
// `dlock doctor` for postgresql://: examines the server and its settings, and tries a lock of its
// own (store/doctor/trial.hpp).
#pragma once

#include "base/result.hpp"
#include "store/doctor/finding.hpp"
#include "store/postgres/pg_url.hpp"
#include "store/store_options.hpp"

namespace dlock {

// Examines the server. Returns the errors of PostgresStore::open(). If trying a lock creates the
// tables, they are not dropped, because another run may already use them.
Result<Examination> examine_postgres(const PgAddress& address,
                                     const StoreOptions& options,
                                     const ExamineTerms& terms);

}  // namespace dlock
