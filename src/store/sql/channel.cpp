// SPDX-License-Identifier: MIT
#include "store/sql/channel.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

namespace dlock::sql {

std::string channel_of(const std::string& id) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // the hash FNV-1a
  for (const char c : id) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "dlock_%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

}  // namespace dlock::sql
