// SPDX-License-Identifier: MIT
// How long to wait between two tries.
#pragma once

#include "base/boot_clock.hpp"

#include <cstdint>

namespace dlock {

// A stream of random numbers that depends only on its seed (splitmix64). Not for secrets.
class Jitter {
 public:
  explicit Jitter(std::uint64_t seed) : state_(seed) {}
  // Returns a random time from `least` to `most`, uniformly distributed.
  Duration between(Duration least, Duration most) {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    z ^= z >> 31U;
    const auto span = static_cast<std::uint64_t>((most - least).count()) + 1;
    return least + Duration(static_cast<Duration::rep>(z % span));
  }

 private:
  std::uint64_t state_;
};

// Pauses that double from the first to the longest.
class Doubling {
 public:
  Doubling(Duration first, Duration longest) : first_(first), longest_(longest), next_(first) {}
  Duration next() {
    const Duration pause = next_;
    next_ = next_ * 2 < longest_ ? next_ * 2 : longest_;
    return pause;
  }
  void reset() { next_ = first_; }

 private:
  Duration first_;
  Duration longest_;
  Duration next_;
};

// Pauses that double as well, but each is shortened at random by up to a half, so that many waiters
// do not retry at the same time.
class Backoff {
 public:
  Backoff(Duration first, Duration longest) : pauses_(first, longest) {}
  Duration next(Jitter& jitter) {
    const Duration pause = pauses_.next();
    return jitter.between(pause / 2, pause);
  }
  void reset() { pauses_.reset(); }

 private:
  Doubling pauses_;
};

}  // namespace dlock
