// SPDX-License-Identifier: MIT
// The subcommands. Each gets a command line that was checked and the settings it was read with, and
// answers with an exit status.
#pragma once

#include "base/result.hpp"
#include "cmd/command_line.hpp"
#include "cmd/exit_status.hpp"
#include "cmd/settings.hpp"
#include "sys/signals.hpp"

#include <string>

namespace dlock {

// Ends the process, by the child's own signal if that is how it died.
[[noreturn]] void run_command(const CommandLine& line,
                              const Settings& settings,
                              const Signals& signals);

// Ends the process by a signal that ended the wait.
ExitStatus acquire_command(const CommandLine& line,
                           const Settings& settings,
                           const Signals& signals);

ExitStatus renew_command(const CommandLine& line, const Settings& settings);
ExitStatus release_command(const CommandLine& line, const Settings& settings);
ExitStatus wait_command(const CommandLine& line, const Settings& settings);
ExitStatus inspect_command(const CommandLine& line, const Settings& settings);
ExitStatus list_command(const CommandLine& line, const Settings& settings);
ExitStatus forget_command(const CommandLine& line, const Settings& settings);
ExitStatus force_release_command(const CommandLine& line, const Settings& settings);

ExitStatus status_of(Errc code);

// Says what went wrong and gives the status that belongs to it.
ExitStatus report(const Error& error, const Settings& settings);

// As holders are shown.
std::string user_name();

}  // namespace dlock
