// SPDX-License-Identifier: MIT
// Base64 of RFC 4648, section 4 ('+', '/', and '=' at the end). It writes any bytes as text, for
// JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlock {

std::string base64_encode(std::string_view bytes);

// Returns the bytes for which base64_encode() returns `text`; nullopt: no bytes have this text. So
// two different texts never decode to equal bytes.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace dlock
