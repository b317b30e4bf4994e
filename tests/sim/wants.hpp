// SPDX-License-Identifier: MIT
// What one run claims: which of the few names of a world, and how. And who may hold a name beside
// whom, said once more than the stores of dlock say it.
#pragma once

#include "core/lock_store.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace dlock::sim {

using HoldId = std::size_t;  // every hold has an owner of its own
using NameId = std::size_t;  // from 0

constexpr std::size_t k_names = 3;  // at most, in a world

struct Wants {
  std::vector<NameId> names{0};  // in any order, none twice
  bool one = false;              // one of the names is enough, the first the best
  Mode mode = Mode::plain;
  std::uint32_t slots = 0;
  Duration once_per{};
};

inline std::string name_text(NameId name) {
  return {static_cast<char>('a' + name)};
}

inline NameId name_in(const std::string& text) {
  return static_cast<NameId>(text.front() - 'a');
}

inline bool wants_name(const Wants& wants, NameId name) {
  return std::find(wants.names.begin(), wants.names.end(), name) != wants.names.end();
}

inline bool share_a_name(const Wants& a, const Wants& b) {
  return std::any_of(
      a.names.begin(), a.names.end(), [&](NameId name) { return wants_name(b, name); });
}

// Of one name, as long as there are slots enough.
inline bool fit_beside(const Wants& a, const Wants& b) {
  if (a.mode != b.mode) return false;
  return a.mode == Mode::shared || (a.mode == Mode::slots && a.slots == b.slots);
}

// What a grant is, name by name as they were claimed; of one of several names only that one.
struct Taken {
  std::vector<NameId> names;
  std::vector<FencingToken> tokens;
  std::vector<std::optional<std::uint32_t>> slots;
};

}  // namespace dlock::sim
