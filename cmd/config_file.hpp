// SPDX-License-Identifier: MIT
// Configuration files: which there are, and refusing those that others could have written.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "cmd/toml.hpp"

#include <string>
#include <string_view>

namespace dlock {

struct ConfigFile {
  ConfigEntries entries;             // the `key = value` lines, by name
  bool password_is_exposed = false;  // it has a password, and sys/trusted_file.hpp warns of it
};

// A file that the caller named. Errc::bad_config if it is not there, is not trusted, or is no TOML.
Result<ConfigFile> read_named_config(const std::string& path);

// The file of a usual place; nothing is in it if it is not there. Errc::denied as in
// read_usual_file().
Result<ConfigFile> read_usual_config(const std::string& path);

// `password` in a configuration file, which is `value` now, and is read anew at each login as that
// of a password file.
Secret password_of_config(const std::string& path, std::string_view value);

}  // namespace dlock
