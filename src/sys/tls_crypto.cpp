// SPDX-License-Identifier: MIT
#include "sys/tls_crypto.hpp"

#include "sys/tls_context.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <array>
#include <memory>

namespace dlock {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string sha256(std::string_view bytes) {
  std::array<char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (!start_crypto_library()) return {};
  if (EVP_Digest(bytes.data(),
                 bytes.size(),
                 reinterpret_cast<unsigned char*>(digest.data()),
                 &size,
                 EVP_sha256(),
                 nullptr) != 1) {
    return {};
  }
  return {digest.data(), size};
}

Result<std::string> rsa_encrypted(std::string_view text, std::string_view public_key) {
  if (!start_crypto_library())
    return Error{Errc::system, "OpenSSL cannot be used: " + tls_reason()};
  ERR_clear_error();
  const std::unique_ptr<BIO, Free> bio(
      BIO_new_mem_buf(public_key.data(), static_cast<int>(public_key.size())));
  const std::unique_ptr<EVP_PKEY, Free> key(
      bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr) : nullptr);
  const std::unique_ptr<EVP_PKEY_CTX, Free> context(key ? EVP_PKEY_CTX_new(key.get(), nullptr)
                                                        : nullptr);
  std::size_t size = 0;
  if (context == nullptr || EVP_PKEY_encrypt_init(context.get()) != 1 ||
      EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_OAEP_PADDING) != 1 ||
      EVP_PKEY_encrypt(context.get(), nullptr, &size, bytes_of(text), text.size()) != 1) {
    return Error{Errc::protocol, "its RSA key cannot be used: " + tls_reason()};
  }
  std::string sealed(size, '\0');
  if (EVP_PKEY_encrypt(context.get(),
                       reinterpret_cast<unsigned char*>(sealed.data()),
                       &size,
                       bytes_of(text),
                       text.size()) != 1) {
    return Error{Errc::protocol, "its RSA key cannot be used: " + tls_reason()};
  }
  sealed.resize(size);
  return sealed;
}

}  // namespace dlock
