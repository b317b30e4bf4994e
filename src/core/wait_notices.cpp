// SPDX-License-Identifier: MIT
#include "core/wait_notices.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

using namespace std::chrono_literals;

namespace {
constexpr Duration k_tell_first_after = 1s;
constexpr Duration k_tell_step_most = 60s;

Notice waiting_notice(Notice::Kind kind, const WaitView& wait, Time now) {
  Notice notice{.kind = kind,
                .span = now - wait.started_at,
                .seen_ago = now - wait.seen_at,
                .left = std::max<Duration>(wait.until.value_or(now) - now, 0ns)};
  if (wait.refusal) {
    notice.which = wait.refusal->which;
    notice.holding = wait.refusal->holding;
    notice.place = wait.refusal->place;
  }
  return notice;
}

}  // namespace

WaitNotices::WaitNotices(Time started, Duration every)
    : every_(every), step_(k_tell_first_after), next_(started + k_tell_first_after) {}

// Returns when to report the outage; Time::max(): never, for example because the command gives up
// before that.
Time WaitNotices::away_at(const std::optional<Outage>& outage) const {
  if (away_told_ || !outage) return Time::max();
  const Time at = outage->since + k_tell_first_after;
  return at < outage->give_up ? at : Time::max();
}

Time WaitNotices::next(const std::optional<Outage>& outage) const {
  return std::min(next_, away_at(outage));
}

std::optional<Notice> WaitNotices::due(const WaitView& wait, Time now) {
  const bool regular = now >= next_;
  if (regular) {
    step_ = every_ > 0ns ? every_ : std::min(2 * step_, k_tell_step_most);
    next_ = now + step_;
  }
  const bool rewritten = regular && away_told_ && every_ > 0ns;
  if (rewritten || now >= away_at(wait.outage)) return away(wait, now);
  if (regular && !away_told_) return held(wait, now);
  return {};
}

std::optional<Notice> WaitNotices::answered(const WaitView& wait, Time now) {
  if (!std::exchange(away_told_, false)) return {};
  return held(wait, now);
}

std::optional<Notice> WaitNotices::held(const WaitView& wait, Time now) {
  if (!wait.refusal) return {};
  return waiting_notice(Notice::Kind::waiting, wait, now);
}

std::optional<Notice> WaitNotices::away(const WaitView& wait, Time now) {
  if (!wait.outage) return {};
  away_told_ = true;
  Notice notice = waiting_notice(Notice::Kind::store_away, wait, now);
  notice.text = wait.outage->text;
  notice.seen_ago = now - wait.outage->since;
  notice.left = std::max<Duration>(wait.outage->give_up - now, 0ns);
  return notice;
}

}  // namespace dlock
