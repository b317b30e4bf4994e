// SPDX-License-Identifier: MIT
// Writes a command's answer to stdout.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/signals.hpp"

#include <string_view>

namespace dlock {

// Writes all of it, or fails: an answer cut short by a full disk must not look whole.
Result<void> write_out(std::string_view text);

// As write_out(), for an answer that is useless after `until`: fails if the reader does not read,
// or if a signal ends us.
Result<void> write_out_until(std::string_view text, Time until, const Signals& signals);

}  // namespace dlock
