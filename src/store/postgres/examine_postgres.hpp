// SPDX-License-Identifier: MIT
// `dlock doctor` for postgresql://: examines the server and its settings, and tries a lock of its
// own there.
#pragma once

#include "base/result.hpp"
#include "store/doctor/finding.hpp"
#include "store/postgres/pg_url.hpp"
#include "store/store_options.hpp"

namespace dlock {

// Errors: as PostgresStore::open(). If the trial creates the tables, they stay: another run may
// already use them.
Result<Examination> examine_postgres(const PgAddress& address,
                                     const StoreOptions& options,
                                     const ExamineTerms& terms);

}  // namespace dlock
