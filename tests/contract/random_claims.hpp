// SPDX-License-Identifier: MIT
// The random claims of the games in differential_test.cpp.
#pragma once

#include "core/lock_store.hpp"

#include <array>
#include <random>
#include <string>
#include <vector>

namespace dlock::contract {

constexpr std::array<const char*, 3> k_names{"a", "b", "c"};

// The line of a game. When a turn begins is left to the store where the caller gets no room itself:
// a table store begins the turn of any waiter that has room, Redis mostly not. A waiter that does
// not ask again loses its place by that, so no game may have all three: silent waiters, claims of
// several names, and several modes.
enum class Line {
  none,
  of_several_names,     // all waiters repeat their claims after each call
  of_several_modes,     // all waiters repeat their claims after each call
  with_silent_waiters,  // some waiters do not repeat their claims, and lose turns and places
};

template <class T>
T one_of(std::mt19937& random, const std::vector<T>& all) {
  return all[random() % all.size()];
}

class RandomClaims {
 public:
  RandomClaims(std::mt19937& random, Line line);

  LockName some_name();
  Claim some_claim(std::size_t number);  // the claim of run number `number`
  bool may_nest() const { return !one_mode(); }
  // Makes `claim` that of a nested run: the run above it has this claim and these holds.
  void go_below(const Claim& above, const Holds& held, Claim& claim);

 private:
  bool one_mode() const {
    return line_ == Line::of_several_names || line_ == Line::with_silent_waiters;
  }
  Mode some_mode();
  std::vector<LockName> some_names();

  std::mt19937& random_;
  Line line_;
  Mode only_mode_;
};

}  // namespace dlock::contract
