// SPDX-License-Identifier: MIT
#include "store/redis/slot.hpp"

namespace dlock {

std::string_view hashed_part(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

std::uint16_t slot_of(std::string_view key) {
  constexpr unsigned k_polynomial = 0x1021;
  constexpr unsigned k_slots = 16384;
  unsigned crc = 0;
  for (const char c : hashed_part(key)) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8U;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc << 1U) ^ ((crc & 0x8000U) != 0 ? k_polynomial : 0);
  }
  return static_cast<std::uint16_t>(crc % k_slots);
}

}  // namespace dlock
