// SPDX-License-Identifier: MIT
// The part of TOML that our settings need: `key = value` with texts, numbers, true and false, and a
// list of texts for `url`. toml11 parses it, and is included only in toml.cpp.
#pragma once

#include "base/result.hpp"

#include <string>
#include <vector>

namespace dlock {

enum class TomlType { text, integer, fraction, boolean };

// A `key = value` line. The value is as it would be written on the command line.
struct ConfigEntry {
  std::string key;
  std::string value;
  TomlType type;  // of a list of texts: text
};
using ConfigEntries = std::vector<ConfigEntry>;

// Returns the `key = value` lines of `text`. `path` is for the error text, which also names the
// line. Errc::bad_config: the text is not TOML, or has a section, a date, or a list other than the
// URLs of `url`.
Result<ConfigEntries> parse_toml(const std::string& path, const std::string& text);

}  // namespace dlock
