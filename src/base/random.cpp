// SPDX-License-Identifier: MIT
#include "base/random.hpp"

#include "base/assert.hpp"
#include "base/errno_text.hpp"
#include "base/log.hpp"

#include <sys/random.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace dlock {

namespace {
constexpr int k_failed = 125;  // exit status if this machine fails
}

void fill_randomly(std::span<unsigned char> bytes) {
  // Once the kernel's pool is ready, up to 256 bytes come at once, and no signal interrupts the
  // call.
  const ssize_t n = ::getrandom(bytes.data(), bytes.size(), 0);
  if (n < 0) {  // a system call filter refused it
    log(LogLevel::error, "cannot get random numbers from the kernel: " + errno_text(errno));
    std::_Exit(k_failed);
  }
  DLOCK_ASSERT(n == static_cast<ssize_t>(bytes.size()));
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
