// SPDX-License-Identifier: MIT
// The part of TOML that our settings need: `key = value` with texts, numbers, true and false, and a
// list of texts for `url`. toml11 parses it, and is included only in toml.cpp.
#pragma once

#include "base/result.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dlock {

using ConfigEntries = std::vector<std::pair<std::string, std::string>>;

// Returns the `key = value` lines of `text`. `path` is for the error text, which also names the
// line. Errc::bad_config: the text is not TOML, or has a section, a date, or a list other than the
// URLs of `url`.
Result<ConfigEntries> parse_toml(const std::string& path, const std::string& text);

}  // namespace dlock
