// SPDX-License-Identifier: MIT
// `dlock doctor` for mysql:// and mariadb://: the server, whether it keeps what it promised, and a
// lock of its own there.
#pragma once

#include "base/result.hpp"
#include "store/doctor/finding.hpp"
#include "store/store_options.hpp"

namespace dlock {

// An error where MysqlStore::open() would refuse the URL. Tables that the trial makes stay: another
// run may use them already.
Result<Examination> examine_mysql(const StoreOptions& options, const ExamineTerms& terms);

}  // namespace dlock
