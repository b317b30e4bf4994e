// SPDX-License-Identifier: MIT
// `dlock doctor` for mysql:// and mariadb://: the server, whether it keeps what it promised, and a
// lock of its own there.
#pragma once

#include "store/doctor/finding.hpp"
#include "store/mysql/my_url.hpp"
#include "store/store_options.hpp"

namespace dlock {

// Tables that the trial makes stay: another run may use them already.
Examination examine_mysql(const MyAddress& address,
                          const StoreOptions& options,
                          const ExamineTerms& terms);

}  // namespace dlock
