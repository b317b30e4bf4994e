// SPDX-License-Identifier: MIT
// Reads configuration files, and refuses files that other users could have written.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "cmd/toml.hpp"

#include <string>
#include <string_view>

namespace dlock {

struct ConfigFile {
  ConfigEntries entries;  // the `key = value` lines, by name
  // The file contains a password, and its group or others can read the file.
  bool password_is_exposed = false;
};

// Reads a file that the caller named. Errc::bad_config: it is missing, not trusted, or not TOML.
Result<ConfigFile> read_named_config(const std::string& path);

// Reads the system's or the user's file; empty if it does not exist. Errc::denied: we lack the
// right to open it, or to look whether it exists.
Result<ConfigFile> read_usual_config(const std::string& path);

// Returns a Secret for the `password` in a configuration file; `value` is its present value. The
// file is read again at each login, like a password file.
Secret password_of_config(const std::string& path, std::string_view value);

}  // namespace dlock
