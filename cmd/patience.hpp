// SPDX-License-Identifier: MIT
// Patience with a store that is not reached or does not answer, for commands that have no session.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"

#include <algorithm>

namespace dlock {

inline constexpr Duration k_pause_between_tries = std::chrono::milliseconds(100);
inline constexpr Duration k_longest_try = std::chrono::seconds(2);

// Asking again may help: the store was not reached, or did not answer.
bool may_be_asked_again(const Error& error);
void pause_between_tries();

// Calls `ask(limit)` until it has an answer or an error for which it is not worth it, but not after
// `until`.
template <class Ask>
auto ask_patiently(Time until, const Ask& ask, bool worth(const Error&) = may_be_asked_again)
    -> decltype(ask(until)) {
  for (;;) {
    auto answer = ask(std::min(until, BootClock::now() + k_longest_try));
    if (answer || !worth(answer.error())) return answer;
    if (BootClock::now() + k_pause_between_tries >= until) return answer;
    pause_between_tries();
  }
}

}  // namespace dlock
