// SPDX-License-Identifier: MIT
// What a TLS connection is made of before it knows its server: versions, trusted CAs, our
// certificate and key, read from their files now.
#pragma once

#include "base/result.hpp"
#include "sys/tls_settings.hpp"

#include <memory>
#include <string>

struct ssl_ctx_st;  // NOLINT(readability-identifier-naming): OpenSSL's name

namespace dlock {

struct FreeTlsContext {
  void operator()(ssl_ctx_st* context) const;
};
using TlsContext = std::unique_ptr<ssl_ctx_st, FreeTlsContext>;

// Errc::bad_config names the option whose file cannot be used, and why.
Result<TlsContext> make_tls_context(const TlsSettings& settings);

// Prepares OpenSSL for hashes and keys; further calls do nothing. TLS needs 500,000 instructions
// more, which make_tls_context() spends. False: the library cannot be used.
bool start_crypto_library();

// The reason of the newest error of the library on this thread, which is then forgotten.
std::string tls_reason();

}  // namespace dlock
