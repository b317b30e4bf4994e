// SPDX-License-Identifier: MIT
// TOML, as far as our settings need it: `key = value` with texts, whole numbers, true and false.
// toml11 reads it and is included in toml.cpp only.
#pragma once

#include "base/result.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dlock {

using ConfigEntries = std::vector<std::pair<std::string, std::string>>;

// `path` is for the error text, which names the line. Errc::bad_config for text that is not TOML,
// for sections, lists and dates.
Result<ConfigEntries> parse_toml(const std::string& path, const std::string& text);

}  // namespace dlock
