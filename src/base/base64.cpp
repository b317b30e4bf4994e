// SPDX-License-Identifier: MIT
#include "base/base64.hpp"

#include <cstdint>

namespace dlock {
namespace {

constexpr std::string_view k_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint32_t k_byte = 0xFF;
constexpr std::uint32_t k_letter = 0x3F;

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view three = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8U | (k < three.size() ? static_cast<unsigned char>(three[k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= three.size() ? k_letters[bits >> (18 - 6 * k) & k_letter] : '=';
  }
  return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return {};
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::string_view four = text.substr(i, 4);
    const bool last = i + 4 == text.size();
    while (last && four.size() > 2 && four.back() == '=')
      four.remove_suffix(1);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const auto at = k < four.size() ? k_letters.find(four[k]) : 0;
      if (at == std::string_view::npos) return {};
      bits = bits << 6U | static_cast<std::uint32_t>(at);
    }
    for (std::size_t k = 0; k + 1 < four.size(); ++k)
      bytes += static_cast<char>(bits >> (16 - 8 * k) & k_byte);
    // The unused bits of the last letter must be 0.
    const std::uint32_t rest = four.size() == 2 ? 0xFFFF : four.size() == 3 ? k_byte : 0;
    if ((bits & rest) != 0) return {};
  }
  return bytes;
}

}  // namespace dlock
