// SPDX-License-Identifier: MIT
// Base64 of RFC 4648, section 4 ('+', '/', and '=' at the end): bytes inside JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlock {

std::string base64_encode(std::string_view bytes);

// nullopt: it is not what base64_encode() makes of any bytes. There is one text for some bytes, so
// two texts that differ are never taken for the same.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace dlock
