// SPDX-License-Identifier: MIT
// `dlock doctor` for Redis: looks at every server behind the URL, tries a lock of its own
// (store/doctor/trial.hpp), and judges what it has seen. It changes nothing else.
#pragma once

#include "base/result.hpp"
#include "store/doctor/finding.hpp"
#include "store/redis/redis_place.hpp"
#include "store/store_options.hpp"

namespace dlock {

// Returns the findings, or, if no server could be looked at, the first error.
Result<Examination> examine_redis(const RedisPlace& place,
                                  const StoreOptions& options,
                                  const ExamineTerms& terms);

}  // namespace dlock
