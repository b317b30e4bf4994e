// SPDX-License-Identifier: MIT
// Virtual time. There is one true time, which only the simulation knows: a Duration since its
// start. Everybody in it has a clock of his own that shows something else and runs at another rate.
// An Agenda plays what is to happen, in order; the same seed plays the same way.
#pragma once

#include "base/boot_clock.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace dlock::sim {

// A small random stream, the same for the same seed (splitmix64).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 0x632BE59BD9B4E019U) {}
  std::uint64_t next();
  Duration between(Duration least, Duration most);  // evenly
  Duration short_or(Duration longest);              // mostly far shorter than `longest`
  int up_to(int most) { return static_cast<int>(next() % (static_cast<std::uint64_t>(most) + 1)); }
  bool one_in(int n) { return next() % static_cast<std::uint64_t>(n) == 0; }
  bool percent(int p) { return up_to(99) < p; }

 private:
  std::uint64_t state_;
};

class DriftingClock {
 public:
  DriftingClock(Duration offset, std::int64_t parts_per_million)
      : offset_(offset), ppm_(parts_per_million) {}
  Time at(Duration truly) const { return Time(offset_ + truly + drift(truly)); }
  Duration truly(Time shown) const;  // when it first shows that
  void step(Duration forward) { offset_ += forward; }

 private:
  Duration drift(Duration truly) const { return Duration(truly.count() / 1'000'000 * ppm_); }
  Duration offset_;
  std::int64_t ppm_;
};

class Agenda {
 public:
  Duration now() const { return now_; }
  void at(Duration when, std::function<void()> what);
  void after(Duration pause, std::function<void()> what) { at(now_ + pause, std::move(what)); }
  // Plays the next thing; false if there is none before `until`.
  bool step(Duration until);
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    Duration when;
    std::uint64_t order = 0;  // of those at the same time: as they were put down
    std::function<void()> what;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.when != b.when ? a.when > b.when : a.order > b.order;
  }
  Duration now_{};
  std::uint64_t order_ = 0;
  std::vector<Entry> entries_;  // a heap, the next one in front
};

}  // namespace dlock::sim
