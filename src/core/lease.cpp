// SPDX-License-Identifier: MIT
#include "core/lease.hpp"

#include "base/duration.hpp"

namespace dlock {

using namespace std::chrono_literals;

namespace {
constexpr Duration k_shortest_ttl = 1s;
constexpr Duration k_longest_ttl = 24h * 365;

Duration default_kill_after(Duration ttl, std::size_t nesting) {
  Duration grace = std::min<Duration>(ttl / 3, 10s);
  for (; nesting > 0; --nesting)
    grace = grace * 3 / 4;
  return grace;
}

}  // namespace

Duration LeaseTerms::drift() const {
  return ttl_ / 100 + 10ms;
}
Duration LeaseTerms::kill_time() const {
  return std::max<Duration>(100ms, ttl_ / 100);
}
Duration LeaseTerms::call_limit() const {
  return std::min<Duration>(ttl_ / 10, 5s);
}
Duration LeaseTerms::first_retry() const {
  return std::min<Duration>(100ms, call_limit());
}

bool LeaseTerms::is_ttl(Duration ttl) {
  return ttl >= k_shortest_ttl && ttl <= k_longest_ttl;
}

Result<LeaseTerms> LeaseTerms::check(Duration ttl,
                                     std::optional<Duration> kill_after,
                                     std::size_t nesting) {
  if (!is_ttl(ttl)) {
    return Error{Errc::bad_usage, "ttl " + format_duration(ttl) + " is not between 1s and 365d"};
  }
  const LeaseTerms terms(ttl, kill_after.value_or(default_kill_after(ttl, nesting)));
  const Duration before_term = ttl - terms.drift() - terms.kill_time() - terms.kill_after();
  const Duration needed = terms.renew_step() + terms.call_limit();
  if (before_term < needed) {
    const Duration most = ttl - terms.drift() - terms.kill_time() - needed;
    return Error{Errc::bad_usage,
                 "kill-after " + format_duration(terms.kill_after()) + " does not fit into ttl " +
                     format_duration(ttl) + ": after margins of " +
                     format_duration(terms.drift() + terms.kill_time()) + " and " +
                     format_duration(needed) + " to renew, at most " + format_duration(most) +
                     " is left; lengthen ttl or shorten kill-after"};
  }
  return terms;
}

}  // namespace dlock
