// SPDX-License-Identifier: MIT
// When a wait is told: after a second, then at doubling intervals of at most a minute (CI systems
// end jobs that are silent for ten), or, where a line can be rewritten in place, every `every`.
#pragma once

#include "base/boot_clock.hpp"

#include <algorithm>

namespace dlock {

class WaitNotices {
 public:
  // Zero: at doubling intervals.
  WaitNotices(Time started, Duration every)
      : every_(every), step_(k_first), next_(started + k_first) {}

  Time next() const { return next_; }
  void told(Time now) {
    step_ = every_ > Duration::zero() ? every_ : std::min(2 * step_, k_longest);
    next_ = now + step_;
  }

 private:
  static constexpr Duration k_first = std::chrono::seconds(1);
  static constexpr Duration k_longest = std::chrono::seconds(60);

  Duration every_;
  Duration step_;
  Time next_;
};

}  // namespace dlock
