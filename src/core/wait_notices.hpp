// SPDX-License-Identifier: MIT
// When a wait is reported, and how. The holder is reported after a second, then at doubling
// intervals of at most a minute (CI systems end jobs that are silent for ten minutes), or at
// intervals of `every` if a terminal can show each report in the place of the last one. An outage
// is reported after a second, once or, on such a terminal, at each interval; when the store is
// back, the holder is reported again.
#pragma once

#include "core/notice.hpp"
#include "core/patience.hpp"

#include <optional>

namespace dlock {

// What is known about a wait.
struct WaitView {
  Time started_at;
  std::optional<Refusal> refusal = {};  // nullopt: the lock has not been seen yet
  Time seen_at = {};                    // when `refusal` arrived
  std::optional<Outage> outage = {};
  std::optional<Time> until = {};  // when the wait is given up
};

class WaitNotices {
 public:
  // `every`: the interval; zero: doubling intervals.
  WaitNotices(Time started, Duration every);

  // Returns when to call due().
  Time next(const std::optional<Outage>& outage) const;
  std::optional<Notice> due(const WaitView& wait, Time now);
  // Called when the store has answered and the wait goes on. Returns the report of the holder if an
  // outage was reported before.
  std::optional<Notice> answered(const WaitView& wait, Time now);

 private:
  Time away_at(const std::optional<Outage>& outage) const;
  static std::optional<Notice> held(const WaitView& wait, Time now);
  std::optional<Notice> away(const WaitView& wait, Time now);

  Duration every_;
  Duration step_;
  Time next_;
  bool away_told_ = false;  // the outage was reported, and the store has not answered since
};

}  // namespace dlock
