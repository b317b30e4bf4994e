// SPDX-License-Identifier: MIT
// Base64 of RFC 4648, section 4 ('+', '/', and '=' at the end): bytes inside JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlock {

std::string base64_encode(std::string_view bytes);

// nullopt: base64_encode() never returns this text. Each byte string has only one valid text, so
// two different texts never decode to equal bytes.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace dlock
