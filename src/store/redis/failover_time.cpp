// SPDX-License-Identifier: MIT
#include "store/redis/failover_time.hpp"

#include "base/duration.hpp"

#include <optional>

namespace dlock {

using namespace std::chrono_literals;

Duration failover_that_fits(const LeaseTerms& lease) {
  return lease.ttl() - lease.renew_step() - lease.drift() - lease.kill_time() - lease.kill_after() -
         k_promotion - lease.call_limit();
}

Duration down_after_in_cluster(Duration node_timeout) {
  return node_timeout / 2 * 3 + 1500ms - k_promotion;
}

Duration ttl_that_outlives(Duration down_after) {
  for (Duration ttl = 5s; ttl < 24h; ttl += 5s) {
    const auto lease = LeaseTerms::check(ttl, std::nullopt);
    if (lease && failover_that_fits(*lease) >= down_after) return ttl;
  }
  return 24h;
}

std::string failover_text(Duration down_after) {
  return "a failover here takes up to " +
         format_duration(std::chrono::ceil<std::chrono::seconds>(down_after + k_promotion));
}

std::string too_short_text(Duration ttl, Duration down_after) {
  return "a hold of " + format_duration(ttl) + " may end by it, --ttl " +
         std::to_string(ttl_that_outlives(down_after) / 1s) + "s would outlive it";
}

}  // namespace dlock
