// SPDX-License-Identifier: MIT
// The table of the subcommands, and the table of the options that are not settings, because they
// make sense for one call only, such as --and. The command-line parser and the help use both
// tables.
#pragma once

#include "base/result.hpp"
#include "cmd/cli.hpp"
#include "cmd/command_line.hpp"
#include "cmd/exit_status.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

// The operands of a command, after its options.
enum class Operands {
  name_and_command,  // NAME, then the child's words
  names,             // at most 16 names; duplicates are removed
  shown_names,       // names to be shown, duplicates too
  one_name,
  name_or_none,
  pattern,  // at most one pattern
  none,
};

struct CommandSpec {
  std::string_view name;
  Operands operands;
  // Called with the checked command line and its settings.
  ExitStatus (*carry_out)(const CommandLine& line, const Settings& settings);
  std::string_view usage;
  std::string_view summary;
  std::string_view example;
  // Names of the command's options that -h shows, separated by blanks. Empty: -h shows all of them.
  std::string_view often;
};
std::span<const CommandSpec> all_commands();
const CommandSpec* find_command(std::string_view name);  // null: there is no such command

// Returns all options of a command, including those that every command has.
std::vector<OptionSpec> options_of(std::string_view command);

// Records an option that is not a setting. Returns false if it is a setting.
bool take_local_option(CommandLine& line, std::string_view name, const std::string& value);

}  // namespace dlock
