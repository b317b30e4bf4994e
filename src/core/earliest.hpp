// SPDX-License-Identifier: MIT
// Comparisons of times that may not be set. Pure.
#pragma once

#include "base/boot_clock.hpp"

#include <initializer_list>
#include <optional>

namespace dlock {

// Returns the earliest of these times; nullopt: none is set.
inline std::optional<Time> earliest(std::initializer_list<std::optional<Time>> times) {
  std::optional<Time> first;
  for (const std::optional<Time>& time : times) {
    if (time && (!first || *time < *first)) first = time;
  }
  return first;
}

// Returns whether the time has come; a time that is not set never comes.
inline bool is_due(std::optional<Time> time, Time now) {
  return time && now >= *time;
}

}  // namespace dlock
