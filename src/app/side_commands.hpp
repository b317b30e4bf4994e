// SPDX-License-Identifier: MIT
// Waits at the end of a run for the commands beside it.
#pragma once

#include "sys/side_command.hpp"
#include "sys/signals.hpp"

#include <vector>

namespace dlock {

// Returns when all have ended, at the latest when their limits are over. Returns sooner if a signal
// comes that would end a dlock without a command: the commands then go on without dlock.
void wait_for(const std::vector<SideCommand>& commands, const Signals& signals);

}  // namespace dlock
