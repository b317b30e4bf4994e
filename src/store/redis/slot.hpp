// SPDX-License-Identifier: MIT
// The hash slot of a key in a cluster, 0 to 16383: CRC16 (XMODEM) of its hash tag, or of the whole
// key if it has none. https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
#pragma once

#include <cstdint>
#include <string_view>

namespace dlock {

// The hashed part: the text between the first { and the next }, unless it is empty or missing.
std::string_view hashed_part(std::string_view key);

std::uint16_t slot_of(std::string_view key);

}  // namespace dlock
