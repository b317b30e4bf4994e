// SPDX-License-Identifier: MIT
#include "sim/time.hpp"

#include <algorithm>
#include <utility>

namespace dlock::sim {

std::uint64_t Dice::next() {
  state_ += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

Duration Dice::between(Duration least, Duration most) {
  if (most <= least) return least;
  const auto span = static_cast<std::uint64_t>((most - least).count()) + 1;
  return least + Duration(static_cast<Duration::rep>(next() % span));
}

Duration Dice::short_or(Duration longest) {
  return between(Duration{}, one_in(4) ? longest : longest / 50);
}

Duration DriftingClock::truly(Time shown) const {
  const Duration passed = shown.time_since_epoch() - offset_;
  Duration when = passed - Duration(passed.count() / (1'000'000 + ppm_) * ppm_);
  // The division above is off by a little.
  while (at(when) < shown)
    when += std::max<Duration>((shown - at(when)) / 2, Duration(1));
  return when;
}

void Agenda::at(Duration when, std::function<void()> what) {
  entries_.push_back({std::max(when, now_), ++order_, std::move(what)});
  std::push_heap(entries_.begin(), entries_.end(), later);
}

bool Agenda::step(Duration until) {
  if (entries_.empty() || entries_.front().when > until) return false;
  std::pop_heap(entries_.begin(), entries_.end(), later);
  const Entry entry = std::move(entries_.back());
  entries_.pop_back();
  now_ = entry.when;
  entry.what();
  return true;
}

}  // namespace dlock::sim
