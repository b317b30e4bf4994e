// SPDX-License-Identifier: MIT
// The facts of a server's certificate, and a text for the user that says why it is not accepted.
#pragma once

#include "sys/tls_facts.hpp"

#include <string>
#include <string_view>

struct ssl_st;             // NOLINT(readability-identifier-naming): OpenSSL's name
struct x509_store_ctx_st;  // NOLINT(readability-identifier-naming): OpenSSL's name

namespace dlock {

// Returns why the certificate is not accepted, with advice. `context`: the verification that has
// just failed. `host`: the name that the certificate should have. `rename`: advice for a wrong name
// (Endpoint::rename).
std::string certificate_problem(x509_store_ctx_st* context,
                                const std::string& host,
                                std::string_view rename);

// Returns the facts of a connection whose handshake is complete.
TlsFacts tls_facts(const ssl_st* ssl);

}  // namespace dlock
