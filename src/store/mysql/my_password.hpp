// SPDX-License-Identifier: MIT
// The client's answers in the login of MySQL 8 (caching_sha2_password). Pure.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace dlock {

// The proof that we know the password, 32 bytes; empty for an empty password. `nonce`: 20 bytes
// from the server.
std::string sha2_proof(std::string_view password, std::string_view nonce);

// The password itself, sealed with the server's public key (PEM), for a server that has to see it
// because it has not cached its digest. Errors as of rsa_encrypted().
Result<std::string> sealed_password(std::string_view password,
                                    std::string_view nonce,
                                    std::string_view public_key);

}  // namespace dlock
