// SPDX-License-Identifier: MIT
// `dlock doctor` for mysql:// and mariadb://: examines the server and its settings, and tries a
// lock of its own (store/doctor/trial.hpp).
#pragma once

#include "store/doctor/finding.hpp"
#include "store/mysql/my_url.hpp"
#include "store/store_options.hpp"

namespace dlock {

// Examines the server. If trying a lock creates the tables, they are not dropped, because another
// run may already use them.
Examination examine_mysql(const MyAddress& address,
                          const StoreOptions& options,
                          const ExamineTerms& terms);

}  // namespace dlock
