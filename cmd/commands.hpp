// SPDX-License-Identifier: MIT
// The subcommands, as the table of command_table.hpp calls them.
#pragma once

#include "base/result.hpp"
#include "cmd/command_line.hpp"
#include "cmd/exit_status.hpp"
#include "cmd/settings.hpp"
#include "core/run_words.hpp"

#include <string>

namespace dlock {

// These two take over the signals, so there must be no other thread yet (threads inherit the mask),
// and end the process themselves: by the signal that ended the child, or the wait.
ExitStatus run_command(const CommandLine& line, const Settings& settings);
ExitStatus acquire_command(const CommandLine& line, const Settings& settings);
ExitStatus renew_command(const CommandLine& line, const Settings& settings);
ExitStatus release_command(const CommandLine& line, const Settings& settings);
ExitStatus wait_command(const CommandLine& line, const Settings& settings);
ExitStatus inspect_command(const CommandLine& line, const Settings& settings);
ExitStatus list_command(const CommandLine& line, const Settings& settings);
ExitStatus forget_command(const CommandLine& line, const Settings& settings);
ExitStatus force_release_command(const CommandLine& line, const Settings& settings);
ExitStatus doctor_command(const CommandLine& line, const Settings& settings);
ExitStatus config_command(const CommandLine& line, const Settings& settings);

ExitStatus status_of(Errc code);
// For a run or an acquire. If a signal ends us: the status that a shell shows.
int status_of(const Outcome& outcome, const Settings& settings);
ExitStatus busy_status(const Settings& settings);  // 75, or as -E has it

// Says what went wrong and gives the status that belongs to it.
ExitStatus report(const Error& error, const Settings& settings);

}  // namespace dlock
