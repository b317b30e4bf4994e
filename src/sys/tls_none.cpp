// SPDX-License-Identifier: MIT
// Replaces tls_session.cpp if dlock is built without TLS (DLOCK_TLS=OFF).
#include "sys/tls_session.hpp"

namespace dlock {

struct TlsSession::Verdict {};

TlsSession::TlsSession() = default;
void TlsSession::Free::operator()(ssl_st* /*ssl*/) const {}
void TlsSession::Free::operator()(Verdict* verdict) const {
  delete verdict;
}

Result<TlsSession> TlsSession::open(const TlsSettings& /*settings*/,
                                    const std::string& /*host*/,
                                    std::string_view /*rename*/) {
  return Error{Errc::bad_config, "this dlock was built without TLS"};
}
bool TlsSession::established() const {
  return false;
}
TlsFacts TlsSession::facts() const {
  return {};
}
Result<void> TlsSession::feed(std::string_view /*sealed*/) {
  return Error{Errc::bad_config, "this dlock was built without TLS"};
}
Result<void> TlsSession::seal(std::string_view /*plain*/) {
  return Error{Errc::bad_config, "this dlock was built without TLS"};
}

std::string tls_library() {
  return {};
}

}  // namespace dlock
