// SPDX-License-Identifier: MIT
// `dlock doctor` for mysql:// and mariadb://: examines the server and its settings, and tries a
// lock of its own there.
#pragma once

#include "store/doctor/finding.hpp"
#include "store/mysql/my_url.hpp"
#include "store/store_options.hpp"

namespace dlock {

// Examines the server. If the trial creates the tables, they stay: another run may already use
// them.
Examination examine_mysql(const MyAddress& address,
                          const StoreOptions& options,
                          const ExamineTerms& terms);

}  // namespace dlock
