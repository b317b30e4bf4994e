// SPDX-License-Identifier: MIT
#include "sys/tls_session.hpp"

#include "base/text.hpp"
#include "sys/tls_certificate.hpp"
#include "sys/tls_context.hpp"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstddef>

namespace dlock {
namespace {

// The most plain bytes that one record holds.
constexpr std::size_t k_piece = std::size_t{16} << 10;

// The first byte of a TLS server's record (RFC 8446, 5.1).
constexpr char k_alert_record = '\x15';
constexpr char k_handshake_record = '\x16';

// OpenSSL's reason code for an alert that the peer sent is the alert's number plus this.
constexpr int k_alerts = 1000;

bool is_address(SSL* ssl, const std::string& host) {
  return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1;
}

// Does what the macro SSL_set_tlsext_host_name() does, without its C casts. False: no memory.
bool tell_name(SSL* ssl, std::string name) {
  return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) == 1;
}

// Sets the name that the certificate must have, and sends it (SNI). False: no memory.
bool expect_name(SSL* ssl, const std::string& host) {
  if (is_address(ssl, host)) return true;  // an address is no server name (RFC 6066, 3)
  // The subject of the certificate does not count as a name: RFC 6125 no longer allows it, and no
  // certificate authority checks it.
  SSL_set_hostflags(ssl,
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return SSL_set1_host(ssl, host.c_str()) == 1 && tell_name(ssl, host);
}

// As expect_name(), but with any_name every name passes, and SNI is sent only if the user named it.
bool name_server(SSL* ssl, const TlsSettings& settings, const std::string& host) {
  if (!settings.any_name) return expect_name(ssl, host);
  return settings.sni.empty() || tell_name(ssl, settings.sni);
}

}  // namespace

struct TlsSession::Verdict {
  std::string host;
  std::string_view rename;
  std::string own_certificate;  // file of our certificate
  std::string problem;          // why the server's certificate is not accepted
  bool asked_for_ours = false;
};

TlsSession::TlsSession() : verdict_(new Verdict) {}

void TlsSession::Free::operator()(SSL* ssl) const {
  SSL_free(ssl);
}
void TlsSession::Free::operator()(Verdict* verdict) const {
  delete verdict;
}

int TlsSession::note_chain(int good, void* context) {
  auto* const check = static_cast<X509_STORE_CTX*>(context);
  const auto* const ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(check, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* const verdict = static_cast<Verdict*>(SSL_get_app_data(ssl));
  if (good == 1) return 1;
  verdict->problem = certificate_problem(check, verdict->host, verdict->rename);
  return 0;
}

int TlsSession::note_request(SSL* /*ssl*/, void* verdict) {
  static_cast<Verdict*>(verdict)->asked_for_ours = true;
  return 1;
}

Result<TlsSession> TlsSession::open(const TlsSettings& settings,
                                    const std::string& host,
                                    std::string_view rename) {
  const auto context = make_tls_context(settings);
  if (!context) return context.error();
  TlsSession session;
  session.verdict_->host = certificate_name(settings.sni.empty() ? host : settings.sni);
  session.verdict_->rename = rename;
  session.verdict_->own_certificate = settings.cert;
  session.ssl_.reset(SSL_new(context->get()));
  SSL* const ssl = session.ssl_.get();
  BIO* const from_peer = BIO_new(BIO_s_mem());
  BIO* const to_peer = BIO_new(BIO_s_mem());
  if (ssl == nullptr || from_peer == nullptr || to_peer == nullptr ||
      !name_server(ssl, settings, session.verdict_->host)) {
    return Error{Errc::system, "cannot start TLS: " + tls_reason()};
  }
  SSL_set_bio(ssl, from_peer, to_peer);
  SSL_set_app_data(ssl, session.verdict_.get());
  SSL_set_cert_cb(ssl, &note_request, session.verdict_.get());
  if (!settings.insecure) {
    SSL_set_verify(ssl, SSL_VERIFY_PEER, [](int good, X509_STORE_CTX* check) {
      return note_chain(good, check);
    });
  }
  SSL_set_connect_state(ssl);
  SSL_do_handshake(ssl);  // makes the first message; the answer is fed later
  session.collect();
  return session;
}

bool TlsSession::established() const {
  return SSL_is_init_finished(ssl_.get()) == 1;
}

TlsFacts TlsSession::facts() const {
  return tls_facts(ssl_.get());
}

void TlsSession::collect() {
  std::array<char, 4096> piece;
  BIO* const to_peer = SSL_get_wbio(ssl_.get());
  for (int n = 0; (n = BIO_read(to_peer, piece.data(), piece.size())) > 0;)
    unsent_.append(piece.data(), static_cast<std::size_t>(n));
}

Result<void> TlsSession::feed(std::string_view sealed) {
  const bool first = !heard_ && !sealed.empty();
  if (first && sealed[0] != k_alert_record && sealed[0] != k_handshake_record) {
    return Error{Errc::protocol, "it does not speak TLS; is it redis:// ?"};
  }
  heard_ = heard_ || first;
  ERR_clear_error();
  BIO_write(SSL_get_rbio(ssl_.get()), sealed.data(), static_cast<int>(sealed.size()));
  int result = 1;
  if (!established()) result = SSL_do_handshake(ssl_.get());
  while (result > 0) {
    std::array<char, k_piece> piece;
    result = SSL_read(ssl_.get(), piece.data(), piece.size());
    if (result > 0) plain_.append(piece.data(), static_cast<std::size_t>(result));
  }
  collect();
  if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ) return {};
  return failure(result);
}

Result<void> TlsSession::seal(std::string_view plain) {
  DLOCK_ASSERT(established());
  ERR_clear_error();
  const int result = SSL_write(ssl_.get(), plain.data(), static_cast<int>(plain.size()));
  collect();
  if (result == static_cast<int>(plain.size())) return {};
  return failure(result);
}

Error TlsSession::failure(int result) const {
  if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN) {
    return {Errc::unavailable, "closed the connection"};
  }
  if (!verdict_->problem.empty()) return {Errc::protocol, verdict_->problem};
  const unsigned long error = ERR_peek_last_error();
  const int reason = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
  if (reason >= k_alerts) return server_alert(reason - k_alerts);
  if (reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_WRONG_SSL_VERSION) {
    return server_alert(SSL_AD_PROTOCOL_VERSION);
  }
  const std::string what =
      established() ? "sent a TLS record that cannot be read: " : "the TLS handshake failed: ";
  return {Errc::protocol, what + tls_reason()};
}

Error TlsSession::server_alert(int alert) const {
  const std::string& ours = verdict_->own_certificate;
  // TLS 1.2 has no alert for a missing certificate: the server then says handshake_failure.
  const bool about_ours =
      verdict_->asked_for_ours &&
      (alert == SSL_AD_HANDSHAKE_FAILURE || alert == SSL_AD_BAD_CERTIFICATE ||
       alert == SSL_AD_UNSUPPORTED_CERTIFICATE || alert == SSL_AD_CERTIFICATE_EXPIRED ||
       alert == SSL_AD_CERTIFICATE_REVOKED || alert == SSL_AD_CERTIFICATE_UNKNOWN ||
       alert == SSL_AD_UNKNOWN_CA || alert == SSL_AD_ACCESS_DENIED);
  if (alert == SSL_AD_CERTIFICATE_REQUIRED || (about_ours && ours.empty())) {
    return {Errc::denied, "it wants a client certificate; name it with --cert FILE --key FILE"};
  }
  const std::string said = SSL_alert_desc_string_long(alert);
  if (about_ours) {
    return {Errc::denied,
            "it does not accept our certificate " + printable(ours) + " (" + said + ")"};
  }
  if (alert == SSL_AD_PROTOCOL_VERSION || alert == SSL_AD_HANDSHAKE_FAILURE ||
      alert == SSL_AD_INSUFFICIENT_SECURITY) {
    return {Errc::protocol,
            "it has no TLS version or cipher in common with dlock, which offers 1.2 and 1.3"};
  }
  if (alert == SSL_AD_UNRECOGNIZED_NAME) {
    return {
        Errc::protocol,
        "it knows no server " + in_quotes(verdict_->host) + "; say --sni with a name that it has"};
  }
  return {established() ? Errc::unavailable : Errc::protocol, "it ended TLS: " + said};
}

std::string tls_library() {
  return OpenSSL_version(OPENSSL_VERSION);
}

}  // namespace dlock
