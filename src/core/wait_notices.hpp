// SPDX-License-Identifier: MIT
// When a wait is reported, and with what: the holder after a second, then at doubling intervals of
// at most a minute (CI systems end jobs that are silent for ten), or every `every` if a line can be
// rewritten in place. An outage is reported after a second, once or in the rewritten line, and the
// holder again when the store is back.
#pragma once

#include "core/notice.hpp"
#include "core/patience.hpp"

#include <optional>

namespace dlock {

// A wait as far as it is known.
struct WaitView {
  Time started_at;
  std::optional<Refusal> refusal = {};  // nullopt: the lock has not been seen yet
  Time seen_at = {};                    // the time of `refusal`
  std::optional<Outage> outage = {};
  std::optional<Time> until = {};  // when it is given up
};

class WaitNotices {
 public:
  // `every` zero: at doubling intervals.
  WaitNotices(Time started, Duration every);

  // When to call due().
  Time next(const std::optional<Outage>& outage) const;
  std::optional<Notice> due(const WaitView& wait, Time now);
  // The store has answered, and the wait goes on.
  std::optional<Notice> answered(const WaitView& wait, Time now);

 private:
  Time away_at(const std::optional<Outage>& outage) const;
  static std::optional<Notice> held(const WaitView& wait, Time now);
  std::optional<Notice> away(const WaitView& wait, Time now);

  Duration every_;
  Duration step_;
  Time next_;
  bool away_told_ = false;  // told, and the store has not answered since
};

}  // namespace dlock
