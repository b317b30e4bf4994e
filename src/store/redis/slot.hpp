// SPDX-License-Identifier: MIT
// Computes the hash slot of a key in a cluster, 0 to 16383: the CRC16 (XMODEM) of the key's hash
// tag, or of the whole key if it has no hash tag.
// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
#pragma once

#include <cstdint>
#include <string_view>

namespace dlock {

// Returns the part of a key that is hashed: the text between the first { and the next }. If there
// are no such braces, or nothing is between them, that is the whole key.
std::string_view hashed_part(std::string_view key);

std::uint16_t slot_of(std::string_view key);

}  // namespace dlock
