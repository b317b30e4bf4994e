// SPDX-License-Identifier: MIT
// What a login needs of OpenSSL besides TLS. Only in a dlock that is built with TLS.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace dlock {

// 32 bytes; empty: the library cannot be used.
std::string sha256(std::string_view bytes);

// By a public RSA key in PEM format, with the padding OAEP (SHA-1, as MySQL has it).
// Errc::protocol: no such key, or one that is too short for the text.
Result<std::string> rsa_encrypted(std::string_view text, std::string_view public_key);

}  // namespace dlock
