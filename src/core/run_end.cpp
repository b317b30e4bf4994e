// SPDX-License-Identifier: MIT
#include "core/run_end.hpp"

#include <string>

namespace dlock {

namespace {

// Returns how the run has ended, for those who look later.
RunEnd end_of(const EndedRun& run, Duration keep) {
  RunEnd end{.outcome = std::string(outcome_word(run.outcome)), .waited = run.waited, .keep = keep};
  if (!run.outcome.ran()) return end;
  const auto& [kind, value] = run.outcome.child;
  (kind == ChildStatus::Kind::exited ? end.exit_status : end.signal) = value;
  return end;
}

}  // namespace

ReleaseOrder release_after(const EndedRun& run, const EndTerms& terms) {
  ReleaseOrder order{.standing = run.keeper.standing(),
                     .safe_until = run.keeper.clock().safe_until(),
                     .told_lost = run.lease_over};
  order.granted_at = run.granted_at;
  if (terms.keep_last > Duration::zero()) order.end = end_of(run, terms.keep_last);
  const Outcome& outcome = run.outcome;
  const bool ended = outcome.kind == Outcome::Kind::child || outcome.kind == Outcome::Kind::time_up;
  if (!ended || outcome.child.kind == ChildStatus::Kind::not_started) return order;
  if (!run.lease_over) order.keep_until = run.granted_at + terms.min_hold;
  if (outcome.succeeded()) order.tell_for = terms.once_per;
  return order;
}

}  // namespace dlock
