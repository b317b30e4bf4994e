// SPDX-License-Identifier: MIT
// The hash slot of a key in a cluster, 0 to 16383: CRC16 (XMODEM) of its hash tag, or of the whole
// key if it has none. https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
#pragma once

#include <cstdint>
#include <string_view>

namespace dlock {

// Returns the hashed part of a key: the text between the first { and the next }; the whole key if
// there are no such braces or nothing is between them.
std::string_view hashed_part(std::string_view key);

std::uint16_t slot_of(std::string_view key);

}  // namespace dlock
