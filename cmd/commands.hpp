// SPDX-License-Identifier: MIT
// The subcommands, called through the table of command_table.hpp.
#pragma once

#include "base/result.hpp"
#include "cmd/command_line.hpp"
#include "cmd/exit_status.hpp"
#include "cmd/settings.hpp"
#include "core/run_words.hpp"

#include <string>

namespace dlock {

// `run` and `acquire` take over the signals, so there must be no other thread yet (threads inherit
// the mask). They end the process themselves: by the signal that ended the child or the wait, if
// any.
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
// Returns the status for a run or an acquire. If a signal ends us: the status that a shell shows.
int status_of(const Outcome& outcome, const Settings& settings);
ExitStatus busy_status(const Settings& settings);  // 75, or the value of -E

// Reports the error, and returns its exit status.
ExitStatus report(const Error& error, const Settings& settings);

}  // namespace dlock
