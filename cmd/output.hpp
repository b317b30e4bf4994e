// SPDX-License-Identifier: MIT
// What a command answers on stdout.
#pragma once

#include "base/boot_clock.hpp"
#include "base/result.hpp"
#include "sys/signals.hpp"

#include <string_view>

namespace dlock {

// All of it, or an error: what was cut short by a full disk must not look whole.
Result<void> write_out(std::string_view text);

// The same, for an answer that is worth something until `until` only: a reader that does not read,
// or a signal that ends us, is an error.
Result<void> write_out_until(std::string_view text, Time until, const Signals& signals);

}  // namespace dlock
