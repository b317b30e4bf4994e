// SPDX-License-Identifier: MIT
#include "base/random.hpp"

#include "base/assert.hpp"

#include <sys/random.h>

#include <array>
#include <bit>
#include <string_view>
#include <vector>

namespace dlock {

void fill_randomly(std::span<unsigned char> bytes) {
  // Up to 256 bytes come whole once the pool is ready, and the call cannot be interrupted.
  DLOCK_ASSERT(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
}

std::string hex(std::span<const unsigned char> bytes) {
  std::string out;
  for (const unsigned char byte : bytes) {
    constexpr std::string_view k_digits = "0123456789abcdef";
    out += k_digits[byte >> 4U];
    out += k_digits[byte & 0xFU];
  }
  return out;
}

std::uint64_t random_seed() {
  std::array<unsigned char, sizeof(std::uint64_t)> bytes{};
  fill_randomly(bytes);
  return std::bit_cast<std::uint64_t>(bytes);
}

std::string random_hex(std::size_t count) {
  std::vector<unsigned char> bytes(count);
  fill_randomly(bytes);
  return hex(bytes);
}

}  // namespace dlock
