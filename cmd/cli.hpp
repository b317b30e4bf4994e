// SPDX-License-Identifier: MIT
// A wrapper of CLI11, which sees only our own options: not names, commands or any word after them,
// because it would rewrite words such as '[.a,.b]'.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock {

struct OptionSpec {
  std::string_view name;   // our name for the option
  std::string_view flags;  // "-w,--wait,--timeout"
  bool takes_value = false;
};

// Returns one (name, value) for every value of an option in `words`, grouped by option, in their
// order; a flag's value is how often it was given. `words` contains only known options and their
// values.
Result<std::vector<std::pair<std::string, std::string>>> parse_options(
    const std::vector<OptionSpec>& specs, const std::vector<std::string>& words);

}  // namespace dlock
