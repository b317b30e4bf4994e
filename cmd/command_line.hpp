// SPDX-License-Identifier: MIT
// The command line, divided into our part and the child's. The first operand of `run` is NAME; the
// words after NAME, and after a "--" directly after it, go to the child byte for byte and are not
// parsed, even if "--" is among them.
#pragma once

#include "base/result.hpp"
#include "cmd/settings.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

struct CommandLine {
  std::string command;  // "run", "inspect", …; empty: none was given
  // Lock names. For run: NAME and every --and. Duplicates removed, except for inspect.
  std::vector<std::string> names;
  std::vector<std::string> and_names;  // only those of --and
  std::vector<std::string> words;      // the child's
  std::vector<Given> settings;
  std::optional<std::string> config;
  bool help = false;
  bool version = false;
  bool json = false;
  bool strict = false;
  bool ddl = false;
  bool yes = false;
  bool now = false;
  std::optional<std::string> if_owner;
  std::optional<std::string> if_token;
  std::optional<std::string> shell_command;  // -c
  std::optional<std::string> owner;          // for renew and release
  std::optional<std::string> every;          // for renew
  std::optional<std::string> while_pid;      // for renew
};

// Whether the setting was given on the command line.
bool is_given(const CommandLine& line, std::string_view setting);

// The one file that --config or else DLOCK_CONFIG names, in place of the usual ones.
std::optional<std::string> config_file(const CommandLine& line);

// Errc::bad_usage with a sentence that says what to write instead.
Result<CommandLine> parse_command_line(const std::vector<std::string>& argv);

// The text of --help, for a command or (empty) for dlock.
std::string help_text(const std::string& command);

}  // namespace dlock
