// SPDX-License-Identifier: MIT
// Cryptography that logins need besides TLS. Only in a dlock built with TLS.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace dlock {

// Returns the hash of `bytes`, 32 bytes long; empty: the library cannot be used.
std::string sha256(std::string_view bytes);

// Encrypts `text` with a public RSA key in PEM format and OAEP padding (SHA-1, as in MySQL).
// Errc::protocol: it is not such a key, or the key is too short for the text.
Result<std::string> rsa_encrypted(std::string_view text, std::string_view public_key);

}  // namespace dlock
