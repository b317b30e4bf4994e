// SPDX-License-Identifier: MIT
// CLI11 at arm's length: it reads our options, and never sees names, commands or anything right of
// them (it would rewrite words such as '[.a,.b]').
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock {

struct OptionSpec {
  std::string_view name;   // the caller's name for the option
  std::string_view flags;  // "-w,--wait,--timeout"
  bool takes_value = false;
};

// One (name, value) for every value of an option in `words`, grouped by option, in the order given;
// a flag's value is how often it was given. The words are known options with their values.
Result<std::vector<std::pair<std::string, std::string>>> parse_options(
    const std::vector<OptionSpec>& specs, const std::vector<std::string>& words);

}  // namespace dlock
