// SPDX-License-Identifier: MIT
// `dlock doctor` for Redis: looks at every server that the URL leads to, tries a lock of its own,
// and judges what was seen. It changes nothing else.
#pragma once

#include "base/result.hpp"
#include "store/doctor/finding.hpp"
#include "store/redis/redis_place.hpp"
#include "store/store_options.hpp"

namespace dlock {

// An error if nothing could be looked at: the first error.
Result<Examination> examine_redis(const RedisPlace& place,
                                  const StoreOptions& options,
                                  const ExamineTerms& terms);

}  // namespace dlock
