// SPDX-License-Identifier: MIT
// Random bytes of the kernel (getrandom(2)): good enough for keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dlock {

// Fills all of at most 256 bytes. If the kernel refuses, an error is logged and the process ends
// with 125.
void fill_randomly(std::span<unsigned char> bytes);

std::string hex(std::span<const unsigned char> bytes);

// The seed of a Jitter (core/backoff.hpp): different for each process, on any host.
std::uint64_t random_seed();

// `count` random bytes, as twice as many lower-case hexadecimal digits.
std::string random_hex(std::size_t count);

}  // namespace dlock
