// SPDX-License-Identifier: MIT
// The command line, split into dlock's part and the command to run, the child. The first operand of
// `run` is NAME. The words after NAME, and after a "--" directly behind it, are passed to the child
// byte for byte; they are not parsed, even if one of them is "--".
#pragma once

#include "base/result.hpp"
#include "cmd/settings.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dlock {

struct CommandLine {
  std::string command;  // "run", "inspect", …; empty: no command
  // The lock names; for run these are NAME and those of --and. Duplicates are removed, except for
  // inspect.
  std::vector<std::string> names;
  std::vector<std::string> and_names;  // only the names given with --and
  std::vector<std::string> or_names;   // only the names given with --or
  std::vector<std::string> words;      // the child's words
  std::vector<Given> settings;
  std::optional<std::string> config;
  bool short_help = false;  // -h
  bool help = false;
  bool version = false;
  bool json = false;
  bool strict = false;
  bool ddl = false;
  bool yes = false;
  bool now = false;
  std::optional<std::string> if_owner;
  std::optional<std::string> if_token;
  std::optional<std::string> shell_command;  // the value of -c
  std::optional<std::string> owner;          // for renew and release
  std::optional<std::string> every;          // for renew
  std::optional<std::string> while_pid;      // for renew
  // For list.
  std::optional<std::string> host;
  std::optional<std::string> user;
  bool mine = false;
  bool only_names = false;
  bool nul_after_names = false;
  std::optional<std::string> format;
  bool waited = false;               // for inspect
  std::optional<std::string> lasts;  // the value of --for, for freeze
};

// Returns whether the setting was given on the command line.
bool is_given(const CommandLine& line, std::string_view setting);

// Returns the file named by --config or else by DLOCK_CONFIG; it is read instead of the usual
// files.
std::optional<std::string> config_file(const CommandLine& line);

// Parses the command line. The text of an error, Errc::bad_usage, says what to write instead.
Result<CommandLine> parse_command_line(const std::vector<std::string>& argv);

// Returns the text of --help, for a command or (if empty) for dlock.
std::string help_text(const std::string& command);

// Returns the text of -h: what most users need of the help, in 23 lines of 80 columns at most, so
// that a terminal of 24 lines shows it whole.
std::string short_help_text(const std::string& command);

}  // namespace dlock
