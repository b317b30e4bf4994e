// SPDX-License-Identifier: MIT
// `dlock doctor` for postgresql://: the server, whether it keeps what it promised, and a lock of
// its own there.
#pragma once

#include "base/result.hpp"
#include "store/doctor/finding.hpp"
#include "store/postgres/pg_url.hpp"
#include "store/store_options.hpp"

namespace dlock {

// An error as of PostgresStore::open(). Tables that the trial makes stay: another run may use them
// already.
Result<Examination> examine_postgres(const PgAddress& address,
                                     const StoreOptions& options,
                                     const ExamineTerms& terms);

}  // namespace dlock
