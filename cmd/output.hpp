// SPDX-License-Identifier: MIT
// Writes a command's answer to stdout.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/signals.hpp"

#include <string_view>

namespace dlock {

// Writes the whole text. Fails if only a part can be written, as on a full disk: a part must not
// look complete.
Result<void> write_out(std::string_view text);

// As write_out(), but also fails when a signal asks dlock to end, or at `until` if the reader of
// stdout has not read by then.
Result<void> write_out_until(std::string_view text, Time until, const Signals& signals);

}  // namespace dlock
