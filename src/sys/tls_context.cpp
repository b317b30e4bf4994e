// SPDX-License-Identifier: MIT
#include "sys/tls_context.hpp"

#include "base/errno_text.hpp"
#include "base/text.hpp"
#include "sys/tls_cpu.hpp"
#include "sys/tls_trust.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace dlock {
namespace {

constexpr int k_security_level = 2;  // as in Debian: RSA of at least 2048 bits, no SHA-1

Error cannot_use(const char* option, const std::string& path, const std::string& why) {
  return {Errc::bad_config,
          std::string("cannot use ") + option + " " + printable(path) + ": " + why};
}

// Returns an error if the file cannot be read: errno says more about that than the library.
Result<void> check_file(const char* option, const std::string& path) {
  if (::access(path.c_str(), R_OK) == 0) return {};
  return cannot_use(option, path, errno_text(errno));
}

Result<void> load_cas(SSL_CTX* context, const TlsSettings& settings) {
  if (!settings.cacert.empty()) {
    if (auto there = check_file("--cacert", settings.cacert); !there) return there;
  }
  const auto cas = find_trusted_cas(settings);
  if (!cas) return cas.error();
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  if (!cas->file.empty() && X509_STORE_load_file(store, cas->file.c_str()) != 1) {
    return cannot_use(settings.cacert.empty() ? "SSL_CERT_FILE or the system's bundle" : "--cacert",
                      cas->file,
                      "it has no certificate in PEM format");
  }
  if (!cas->dir.empty() && X509_STORE_load_path(store, cas->dir.c_str()) != 1) {
    return cannot_use("the directory of CAs", cas->dir, tls_reason());
  }
  return {};
}

struct Password {
  const Secret* secret;
  bool asked = false;
};

int give_password(char* to, int size, int /*write*/, void* password) {
  auto& given = *static_cast<Password*>(password);
  given.asked = true;
  const std::string text = given.secret->reveal();
  if (text.empty() || text.size() > static_cast<std::size_t>(size)) return -1;
  return static_cast<int>(text.copy(to, text.size()));
}

Result<void> load_key(SSL_CTX* context, const TlsSettings& settings) {
  Password password{&settings.key_password};
  SSL_CTX_set_default_passwd_cb(context, &give_password);
  SSL_CTX_set_default_passwd_cb_userdata(context, &password);
  const bool read =
      SSL_CTX_use_PrivateKey_file(context, settings.key.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  SSL_CTX_set_default_passwd_cb(context, nullptr);
  if (read && SSL_CTX_check_private_key(context) == 1) return {};
  const bool mismatch = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH ||
                        ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_TYPE_MISMATCH;
  ERR_clear_error();
  if (mismatch) return cannot_use("--key", settings.key, "it does not belong to --cert");
  if (!password.asked) {
    return cannot_use("--key", settings.key, "it has no private key in PEM format");
  }
  return cannot_use("--key",
                    settings.key,
                    settings.key_password.empty()
                        ? "it has a password; give it by --key-password-file"
                        : "the password of --key-password-file does not fit");
}

Result<void> load_certificate(SSL_CTX* context, const TlsSettings& settings) {
  if (settings.cert.empty() != settings.key.empty()) {
    return Error{Errc::bad_config, "--cert and --key are needed together"};
  }
  if (settings.cert.empty()) return {};
  if (auto there = check_file("--cert", settings.cert); !there) return there;
  if (auto there = check_file("--key", settings.key); !there) return there;
  if (SSL_CTX_use_certificate_chain_file(context, settings.cert.c_str()) != 1) {
    return cannot_use("--cert", settings.cert, "it has no usable certificate: " + tls_reason());
  }
  return load_key(context, settings);
}

// openssl.cnf is not read, because the file of another distribution may name engines and providers
// that this program does not have. OpenSSL tidies nothing up at exit.
constexpr std::uint64_t k_how = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT;

}  // namespace

bool start_crypto_library() {
  static const bool started = [] {
    set_up_cpu_for_tls();
    return OPENSSL_init_crypto(k_how, nullptr) == 1;
  }();
  return started;
}

void FreeTlsContext::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

std::string tls_reason() {
  OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS | OPENSSL_INIT_LOAD_CRYPTO_STRINGS, nullptr);
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "unknown reason";
}

Result<TlsContext> make_tls_context(const TlsSettings& settings) {
  const bool started = start_crypto_library() && OPENSSL_init_ssl(k_how, nullptr) == 1;
  ERR_clear_error();
  TlsContext context(started ? SSL_CTX_new(TLS_client_method()) : nullptr);
  if (context == nullptr) return Error{Errc::system, "cannot start TLS: " + tls_reason()};
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_security_level(context.get(), k_security_level);
  // No session is resumed: resuming one would skip the check of both certificates. A resumed second
  // connection would save 0.6 ms of 1.6 (EC) or 0.8 of 1.9 (RSA), and no round trip.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  if (!settings.insecure) {
    if (auto loaded = load_cas(context.get(), settings); !loaded) return loaded.error();
  }
  if (auto loaded = load_certificate(context.get(), settings); !loaded) return loaded.error();
  return context;
}

}  // namespace dlock
