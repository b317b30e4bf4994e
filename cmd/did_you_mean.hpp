// SPDX-License-Identifier: MIT
// Suggests a known word for an unknown one, in an error text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// Returns "; did you mean --wait?" if one of `known` is very similar to `word`, otherwise an empty
// text. Case, and '_' for '-', do not count as differences.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace dlock
