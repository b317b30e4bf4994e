// SPDX-License-Identifier: MIT
// A wrapper of CLI11. It passes only dlock's own options to CLI11, never a lock name or a word of
// the command, because CLI11 would rewrite words such as '[.a,.b]'.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock {

struct OptionSpec {
  std::string_view name;   // the option's name in our tables: "wait"
  std::string_view flags;  // "-w,--wait,--timeout"
  bool takes_value = false;
};

// Parses `words`, which must be known options and their values. Returns one pair (name, value) for
// every value. The pairs of one option stand together, in the order of its values. The value of a
// flag is how often it was given.
Result<std::vector<std::pair<std::string, std::string>>> parse_options(
    const std::vector<OptionSpec>& specs, const std::vector<std::string>& words);

}  // namespace dlock
