// SPDX-License-Identifier: MIT
// Configuration files: reads them, and refuses files that others could have written.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "cmd/toml.hpp"

#include <string>
#include <string_view>

namespace dlock {

struct ConfigFile {
  ConfigEntries entries;             // the `key = value` lines, by name
  bool password_is_exposed = false;  // has a password; sys/trusted_file.hpp warns of it
};

// A file that the caller named. Errc::bad_config if it is missing, not trusted, or not TOML.
Result<ConfigFile> read_named_config(const std::string& path);

// A file in a usual place; empty if it does not exist. Errc::denied as in read_usual_file().
Result<ConfigFile> read_usual_config(const std::string& path);

// `password` in a configuration file: now `value`, but read again at each login, as from a password
// file.
Secret password_of_config(const std::string& path, std::string_view value);

}  // namespace dlock
