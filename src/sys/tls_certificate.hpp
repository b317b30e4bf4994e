// SPDX-License-Identifier: MIT
// Why a server's certificate is not accepted, in words that say what to do.
#pragma once

#include <string>

struct x509_store_ctx_st;  // NOLINT(readability-identifier-naming): OpenSSL's name

namespace dlock {

// `context`: the check that has just failed. `host`: the name that the certificate should have.
std::string certificate_problem(x509_store_ctx_st* context, const std::string& host);

}  // namespace dlock
