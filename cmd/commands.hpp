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

// `run` and `acquire` block the signals, so they must be called before another thread starts: only
// later threads inherit the signal mask. Except for early errors they do not return but end the
// process; if a signal ended the child or the wait, the process ends by the same signal.
ExitStatus run_command(const CommandLine& line, const Settings& settings);
ExitStatus acquire_command(const CommandLine& line, const Settings& settings);
ExitStatus renew_command(const CommandLine& line, const Settings& settings);
ExitStatus release_command(const CommandLine& line, const Settings& settings);
ExitStatus wait_command(const CommandLine& line, const Settings& settings);
ExitStatus inspect_command(const CommandLine& line, const Settings& settings);
ExitStatus list_command(const CommandLine& line, const Settings& settings);
ExitStatus forget_command(const CommandLine& line, const Settings& settings);
ExitStatus freeze_command(const CommandLine& line, const Settings& settings);
ExitStatus unfreeze_command(const CommandLine& line, const Settings& settings);
ExitStatus force_release_command(const CommandLine& line, const Settings& settings);
ExitStatus doctor_command(const CommandLine& line, const Settings& settings);
ExitStatus config_command(const CommandLine& line, const Settings& settings);

ExitStatus status_of(Errc code);
// Returns the exit status of a run or an acquire. If it was ended by a signal: 128 plus the
// signal's number, as a shell shows it.
int status_of(const Outcome& outcome, const Settings& settings);
ExitStatus busy_status(const Settings& settings);  // 75, or the value of -E

// Reports the error, and returns its exit status. `json`: as for log().
ExitStatus report(const Error& error, const Settings& settings, std::string* json = nullptr);

}  // namespace dlock
