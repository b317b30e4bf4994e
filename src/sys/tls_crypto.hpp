// SPDX-License-Identifier: MIT
// The cryptography of a login besides TLS. Only in a dlock that is built with TLS.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace dlock {

// 32 bytes; empty: the library cannot be used.
std::string sha256(std::string_view bytes);

// Encrypts with a public RSA key in PEM format and OAEP padding (SHA-1, as in MySQL).
// Errc::protocol: no such key, or a key too short for the text.
Result<std::string> rsa_encrypted(std::string_view text, std::string_view public_key);

}  // namespace dlock
