// SPDX-License-Identifier: MIT
// What the help of one command says and that of the others does not: the exit statuses, and options
// that mean something else there.
#pragma once

#include <string>
#include <string_view>

namespace dlock {

// Returns the help of this setting in this command if it means something else there than in other
// commands; otherwise an empty text.
std::string_view meaning_in(std::string_view command, std::string_view setting);

// Returns the exit statuses of the command, with a heading, one a line. Empty command: those of
// run.
std::string exit_statuses(std::string_view command);

}  // namespace dlock
