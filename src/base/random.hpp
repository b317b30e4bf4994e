// SPDX-License-Identifier: MIT
// Random bytes of the kernel (getrandom(2)): good enough for keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dlock {

// At most 256 bytes, all of them: where the kernel refuses, an error is logged and the process ends
// with 125.
void fill_randomly(std::span<unsigned char> bytes);

std::string hex(std::span<const unsigned char> bytes);

// Of a Jitter (core/backoff.hpp): another one for each process, on whatever host.
std::uint64_t random_seed();

// `count` random bytes, as twice as many lower-case digits.
std::string random_hex(std::size_t count);

}  // namespace dlock
