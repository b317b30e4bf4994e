// SPDX-License-Identifier: MIT
// The subcommands and those of their options that are no settings, in tables that the parser and
// the help read.
#pragma once

#include "base/result.hpp"
#include "cmd/cli.hpp"
#include "cmd/command_line.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct CommandSpec {
  std::string_view name;
  std::string_view usage;
  std::string_view summary;
  std::string_view example;
};
const std::vector<CommandSpec>& all_commands();
const CommandSpec* find_command(std::string_view name);  // null: there is none

// Every option of a command, and those of every command.
std::vector<OptionSpec> options_of(std::string_view command);

// Takes down an option that is no setting. False: it is one.
bool take_local_option(CommandLine& line, std::string_view name, const std::string& value);

}  // namespace dlock
