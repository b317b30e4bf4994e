// SPDX-License-Identifier: MIT
// Computes what the client sends in the login of MySQL 8 (caching_sha2_password). Pure.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace dlock {

// Returns the proof that we know the password: 32 bytes, or no bytes if the password is empty.
// `nonce` is the 20 random bytes that the server has sent.
std::string sha2_proof(std::string_view password, std::string_view nonce);

// Returns the password, encrypted with the server's public key (PEM). A server asks for it if it
// has not cached the password's hash. Errors are those of rsa_encrypted().
Result<std::string> sealed_password(std::string_view password,
                                    std::string_view nonce,
                                    std::string_view public_key);

}  // namespace dlock
