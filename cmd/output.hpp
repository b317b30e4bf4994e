// SPDX-License-Identifier: MIT
// Writes a command's answer to stdout.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/signals.hpp"

#include <string_view>

namespace dlock {

// Writes the whole text or fails: an answer that a full disk cuts off must not look complete.
Result<void> write_out(std::string_view text);

// As write_out(), for an answer that is useless after `until`. Fails if the reader does not read,
// or if a signal ends us.
Result<void> write_out_until(std::string_view text, Time until, const Signals& signals);

}  // namespace dlock
