// SPDX-License-Identifier: MIT
// The arithmetic of a lease (ARCHITECTURE.md, "Lease"). Everything counts from sent_at: the moment,
// on BootClock, just before the first byte of the newest confirmed request was handed to the
// kernel. The server cannot have started its TTL before that, so every deadline here lies before
// the end of the lease on the server, as long as clock rates differ by less than one per cent.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"

#include <algorithm>
#include <optional>

namespace dlock {

// The durations of a lease, checked against each other once, at start.
class LeaseTerms {
 public:
  // Returns the terms. Errc::bad_usage, with the sum in the text, if the values do not fit
  // together: ttl must be at least the sum of the time until the first renewal, the time for one
  // renewal, `kill_after` and the margins. The default of `kill_after` is a third of ttl, at most
  // 10s; at each level of nesting it is three quarters of the default of the level above, so that a
  // nested command has ended before the outer run kills it.
  static Result<LeaseTerms> check(Duration ttl,
                                  std::optional<Duration> kill_after,
                                  std::size_t nesting = 0);

  // Returns whether `ttl` is from 1s to 365d.
  static bool is_ttl(Duration ttl);

  Duration ttl() const { return ttl_; }
  Duration kill_after() const { return kill_after_; }  // from TERM to KILL
  Duration drift() const;                           // margin for clock rates, rounding and timers
  Duration kill_time() const;                       // time for a KILL to take effect
  Duration renew_step() const { return ttl_ / 3; }  // time between renewals
  Duration call_limit() const;                      // limit of one renewal, connecting included
  Duration first_retry() const;  // pause after a failed renewal; it doubles each time

 private:
  LeaseTerms(Duration ttl, Duration kill_after) : ttl_(ttl), kill_after_(kill_after) {}
  Duration ttl_;
  Duration kill_after_;
};

// The deadlines of one hold. Only confirmed requests move them, and only forward.
class LeaseClock {
 public:
  LeaseClock(const LeaseTerms& terms, Time sent_at) : terms_(terms), sent_at_(sent_at) {}

  void confirm(Time sent_at) { sent_at_ = std::max(sent_at_, sent_at); }

  Time sent_at() const { return sent_at_; }
  Time renew_at() const { return sent_at_ + terms_.renew_step(); }
  // Until this time the store grants the lock to no other owner.
  Time safe_until() const { return sent_at_ + terms_.ttl() - terms_.drift(); }
  Time kill_at() const { return safe_until() - terms_.kill_time(); }
  Time term_at() const { return kill_at() - terms_.kill_after(); }
  // Returns whether the command may start (rule 2): a third of ttl must be left until term_at().
  // Otherwise the grant came too late, and the caller releases it.
  bool may_start(Time now) const { return now + terms_.renew_step() <= term_at(); }

 private:
  LeaseTerms terms_;
  Time sent_at_;
};

}  // namespace dlock
