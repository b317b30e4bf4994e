// SPDX-License-Identifier: MIT
// The subcommands and those of their options that are no settings, in tables that the parser and
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

// What stands behind a command and its options.
enum class Operands {
  name_and_command,  // NAME, the child's words
  names,             // of one call: none twice, at most k_most_names
  shown_names,       // each is shown
  one_name,
  name_or_none,
  pattern,  // at most one
  none,
};

struct CommandSpec {
  std::string_view name;
  Operands operands;
  // Gets a command line that was checked and the settings it was read with.
  ExitStatus (*carry_out)(const CommandLine& line, const Settings& settings);
  std::string_view usage;
  std::string_view summary;
  std::string_view example;
};
std::span<const CommandSpec> all_commands();
const CommandSpec* find_command(std::string_view name);  // null: there is none

// Every option of a command, and those of every command.
std::vector<OptionSpec> options_of(std::string_view command);

// Takes down an option that is no setting. False: it is one.
bool take_local_option(CommandLine& line, std::string_view name, const std::string& value);

}  // namespace dlock
