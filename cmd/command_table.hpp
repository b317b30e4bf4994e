// SPDX-License-Identifier: MIT
// The subcommands, and those of their options that are not settings, in tables that the parser and
// the help read.
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

// The operands after a command and its options.
enum class Operands {
  name_and_command,  // NAME, the child's words
  names,             // of one call: no duplicates, at most k_most_names
  shown_names,       // duplicates are shown, too
  one_name,
  name_or_none,
  pattern,  // at most one
  none,
};

struct CommandSpec {
  std::string_view name;
  Operands operands;
  // Gets the checked command line and the settings that it was read with.
  ExitStatus (*carry_out)(const CommandLine& line, const Settings& settings);
  std::string_view usage;
  std::string_view summary;
  std::string_view example;
};
std::span<const CommandSpec> all_commands();
const CommandSpec* find_command(std::string_view name);  // null: no such command

// Every option of a command, including the options of all commands.
std::vector<OptionSpec> options_of(std::string_view command);

// Records an option that is no setting. False: it is a setting.
bool take_local_option(CommandLine& line, std::string_view name, const std::string& value);

}  // namespace dlock
