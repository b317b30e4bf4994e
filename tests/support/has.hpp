// SPDX-License-Identifier: MIT
// has(): whether a text contains another.
#pragma once

#include <string_view>

namespace dlock::test {

// Returns whether `text` contains `part`.
inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace dlock::test
