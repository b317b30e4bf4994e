// SPDX-License-Identifier: MIT
// Random bytes from the kernel (getrandom(2)), good enough for keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dlock {

// Fills all of `bytes`, at most 256. If the kernel refuses, logs an error and ends the process with
// status 125.
void fill_randomly(std::span<unsigned char> bytes);

std::string hex(std::span<const unsigned char> bytes);

// Returns a random seed for Jitter (core/backoff.hpp). Each process on each host gets another seed,
// so that waiters do not all retry at the same moments.
std::uint64_t random_seed();

// Returns `count` random bytes as twice as many lower-case hexadecimal digits.
std::string random_hex(std::size_t count);

}  // namespace dlock
