// SPDX-License-Identifier: MIT
// Proposes a known word for an unknown one, in an error text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// "; did you mean --wait?" if one of `known` is very like `word`, else nothing. Case, and '_' for
// '-', make no difference.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace dlock
