// SPDX-License-Identifier: MIT
#include "store/mysql/my_password.hpp"

#include "sys/tls_crypto.hpp"

namespace dlock {
namespace {

// Returns the bytes of `text`, each XORed with a byte of `mask`; `mask` is repeated as often as
// needed.
std::string masked(std::string text, std::string_view mask) {
  for (std::size_t i = 0; i < text.size() && !mask.empty(); ++i) {
    text[i] = static_cast<char>(text[i] ^ mask[i % mask.size()]);
  }
  return text;
}

}  // namespace

std::string sha2_proof(std::string_view password, std::string_view nonce) {
  if (password.empty()) return {};
  const std::string once = sha256(password);
  return masked(once, sha256(sha256(once) + std::string(nonce)));
}

Result<std::string> sealed_password(std::string_view password,
                                    std::string_view nonce,
                                    std::string_view public_key) {
  return rsa_encrypted(masked(std::string(password) + '\0', nonce), public_key);
}

}  // namespace dlock
