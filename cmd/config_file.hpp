// SPDX-License-Identifier: MIT
// Config and password files: reading them, and refusing those that others can read or write.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "cmd/toml.hpp"

#include <string>
#include <string_view>

namespace dlock {

// The `key = value` lines of a TOML file, by name. A file that is not there is empty, unless it
// must exist. Errc::bad_config if it is no such file, if others than root and we own or can write
// it, or if it holds a password and group or others can read it.
Result<ConfigEntries> read_config_file(const std::string& path, bool must_exist);

// The first line, which must not be empty. The same rights as for a config file with a password;
// /dev/fd/N works. The secret reads a file anew at each login; while that fails, also by the
// rights, it stays what it was.
Result<Secret> read_password_file(const std::string& path);
// The same of `password` in a config file, which is `value` now.
Secret password_of_config(const std::string& path, std::string_view value);

}  // namespace dlock
