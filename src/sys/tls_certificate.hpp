// SPDX-License-Identifier: MIT
// The facts of a server's certificate, and why it is not accepted, with advice.
#pragma once

#include "sys/tls_facts.hpp"

#include <string>
#include <string_view>

struct ssl_st;             // NOLINT(readability-identifier-naming): OpenSSL's name
struct x509_store_ctx_st;  // NOLINT(readability-identifier-naming): OpenSSL's name

namespace dlock {

// `context`: the check that has just failed. `host`: the name that the certificate should have;
// `rename` as in Endpoint.
std::string certificate_problem(x509_store_ctx_st* context,
                                const std::string& host,
                                std::string_view rename);

// The facts of a connection whose handshake is complete.
TlsFacts tls_facts(const ssl_st* ssl);

}  // namespace dlock
