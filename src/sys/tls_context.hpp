// SPDX-License-Identifier: MIT
// Makes the part of a TLS connection that does not depend on the server: versions, trusted CAs, our
// certificate and key. Reads the files each time.
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

// Makes the context. Errc::bad_config: the file of an option cannot be used; the text says which
// one, and why.
Result<TlsContext> make_tls_context(const TlsSettings& settings);

// Prepares OpenSSL for hashes and keys; further calls do nothing. False: the library cannot be
// used. Preparing it for TLS takes 500,000 instructions more, so only make_tls_context() does that.
bool start_crypto_library();

// Returns the text of OpenSSL's newest error on this thread, and removes the error.
std::string tls_reason();

}  // namespace dlock
