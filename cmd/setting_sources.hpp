// SPDX-License-Identifier: MIT
// The sources of settings: configuration files, environment and command line. Each is read once; a
// file may be a pipe.
#pragma once

#include "base/result.hpp"
#include "cmd/settings.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// A variable that other programs read as well.
constexpr std::string_view k_foreign_url = "REDIS_URL";

// A setting as a source has it.
struct Said {
  const Setting* setting;
  std::string name;  // as written at its source: "--ttl", "DLOCK_TTL", "ttl"
  std::string value;
};

// A source of settings, and all settings in it.
struct SettingSource {
  Errc code;          // code of an error in this source
  std::string place;  // begins each error text: "/etc/dlock/config.toml: ", or empty
  std::vector<Said> all;
  std::string file = {};  // path of the source, if it is a file
};

struct SettingSources {
  std::vector<SettingSource> all;  // in order: each source overrides those before it
  std::vector<Note> notes;
  Result<void> read = {};  // the error of a file; then `all` has what could be read
};

// Reads all sources. `config`: the only file to read, instead of the user's and the system's. After
// an error in a file it still reads the environment and the options. The rights of files are
// checked as dlock.toml(5) says.
SettingSources read_setting_sources(const std::vector<Given>& given,
                                    const std::optional<std::string>& config);

// Returns the options as a source.
SettingSource options_as_source(const std::vector<Given>& given);

// Returns the warning about a secret file that others can read. `what` says what is secret in it.
Note exposed(const std::string& path, std::string_view what = "holds a password");

}  // namespace dlock
