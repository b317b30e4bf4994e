// SPDX-License-Identifier: MIT
// TlsServer: the server's side of a TLS connection, in memory, with a self-signed certificate for
// 127.0.0.1 or other names. It is for tests of the client's side; each failure of its own fails the
// test.
#pragma once

#include "base/assert.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace dlock::test {

struct TlsCertificate {
  std::string names = "IP:127.0.0.1";  // as OpenSSL writes them: "IP:127.0.0.1,DNS:*.example.com"
  std::string usage = {};              // as "clientAuth"; empty: any usage
  unsigned rsa_bits = 0;               // 0: an elliptic-curve key
  std::string raw_name = {};           // instead of `names`: one host name of arbitrary bytes
};

class TlsServer {
 public:
  explicit TlsServer(const std::string& names = "IP:127.0.0.1")
      : TlsServer(TlsCertificate{.names = names}) {}
  explicit TlsServer(const TlsCertificate& wanted)
      : context_(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free), ssl_(nullptr, &SSL_free) {
    SSL_CTX_set_security_level(context_.get(), 0);
    EVP_PKEY* const key = wanted.rsa_bits > 0 ? EVP_RSA_gen(wanted.rsa_bits) : EVP_EC_gen("P-256");
    X509* const certificate = signed_by_itself(key, wanted);
    DLOCK_ASSERT(SSL_CTX_use_certificate(context_.get(), certificate) == 1);
    DLOCK_ASSERT(SSL_CTX_use_PrivateKey(context_.get(), key) == 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl_.get());
  }

  // Takes bytes that the client sent, and returns the plain text in them.
  std::string feed(std::string_view sealed) {
    BIO_write(SSL_get_rbio(ssl_.get()), sealed.data(), static_cast<int>(sealed.size()));
    std::string plain;
    std::array<char, 4096> piece{};
    for (int n = 0; (n = SSL_read(ssl_.get(), piece.data(), piece.size())) > 0;)
      plain.append(piece.data(), static_cast<std::size_t>(n));
    return plain;
  }
  void say(std::string_view plain) {
    DLOCK_ASSERT(SSL_write(ssl_.get(), plain.data(), static_cast<int>(plain.size())) > 0);
  }
  void update_keys() {
    DLOCK_ASSERT(SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED) == 1);
    DLOCK_ASSERT(SSL_do_handshake(ssl_.get()) == 1);
  }
  void say_goodbye() { SSL_shutdown(ssl_.get()); }

  // Returns the certificate in PEM.
  std::string certificate() const {
    BIO* const bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, SSL_CTX_get0_certificate(context_.get()));
    std::array<char, 4096> text{};
    const int n = BIO_read(bio, text.data(), text.size());
    BIO_free(bio);
    return {text.data(), static_cast<std::size_t>(n)};
  }

  // Removes and returns the bytes to send to the client.
  std::string sealed() {
    std::string bytes;
    std::array<char, 4096> piece{};
    for (int n = 0; (n = BIO_read(SSL_get_wbio(ssl_.get()), piece.data(), piece.size())) > 0;)
      bytes.append(piece.data(), static_cast<std::size_t>(n));
    return bytes;
  }

 private:
  static X509* signed_by_itself(EVP_PKEY* key, const TlsCertificate& wanted) {
    constexpr long k_day = 86400;
    X509* const certificate = X509_new();
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -k_day);
    X509_gmtime_adj(X509_getm_notAfter(certificate), k_day);
    X509_set_pubkey(certificate, key);
    if (wanted.raw_name.empty()) add(certificate, NID_subject_alt_name, wanted.names);
    if (!wanted.raw_name.empty()) add_raw_name(certificate, wanted.raw_name);
    if (!wanted.usage.empty()) add(certificate, NID_ext_key_usage, wanted.usage);
    DLOCK_ASSERT(X509_sign(certificate, key, EVP_sha256()) > 0);
    return certificate;
  }
  static void add(X509* certificate, int what, const std::string& text) {
    X509_EXTENSION* const one = X509V3_EXT_conf_nid(nullptr, nullptr, what, text.c_str());
    X509_add_ext(certificate, one, -1);
    X509_EXTENSION_free(one);
  }
  static void add_raw_name(X509* certificate, const std::string& bytes) {
    ASN1_IA5STRING* const text = ASN1_IA5STRING_new();
    ASN1_STRING_set(text, bytes.data(), static_cast<int>(bytes.size()));
    GENERAL_NAME* const name = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(name, GEN_DNS, text);
    GENERAL_NAMES* const all = GENERAL_NAMES_new();
    sk_GENERAL_NAME_push(all, name);
    X509_add1_ext_i2d(certificate, NID_subject_alt_name, all, 0, 0);
    GENERAL_NAMES_free(all);
  }

  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
};

}  // namespace dlock::test
