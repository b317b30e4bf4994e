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
  // The file contains a password that others can read; see TrustedFile::is_exposed.
  bool password_is_exposed = false;
};

// Reads a file that the caller named. Errc::bad_config: it is missing, not trusted, or not TOML.
Result<ConfigFile> read_named_config(const std::string& path);

// Reads a file in a usual place; empty if it does not exist. Errc::denied as for read_usual_file().
Result<ConfigFile> read_usual_config(const std::string& path);

// Returns the `password` of a configuration file. It is now `value`, but is read again at each
// login, like the password in a password file.
Secret password_of_config(const std::string& path, std::string_view value);

}  // namespace dlock
