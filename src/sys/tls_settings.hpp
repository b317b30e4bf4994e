// SPDX-License-Identifier: MIT
// A user's TLS settings. Each connection reads the files anew, so that certificates may be replaced
// while a lock is held.
#pragma once

#include "base/secret.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace dlock {

struct TlsSettings {
  // A file of trusted CAs, PEM; if this and `cacertdir` are empty: the system's CAs.
  std::string cacert;
  std::string cacertdir;     // a directory of trusted CAs with hashed names (openssl rehash)
  std::string default_file;  // SSL_CERT_FILE; this and SSL_CERT_DIR replace the system's CAs
  std::string default_dir;
  std::string cert;  // a file with our certificate and its chain, PEM
  std::string key;   // a file with the key of our certificate, PEM
  Secret key_password;
  std::string sni;        // the server's name for SNI and verification, if it is not the host
  bool insecure = false;  // neither chain nor name is verified
  bool any_name = false;  // the chain is verified, the name is not

  bool said() const {
    return insecure || !(cacert.empty() && cacertdir.empty() && cert.empty() && key.empty() &&
                         key_password.empty() && sni.empty());
  }
};

// The settings that a URL may have, by their names there.
inline constexpr std::array<std::string_view, 5> k_tls_in_urls{
    "cacert", "cacertdir", "cert", "key", "sni"};

// Returns the host's name as a certificate has it: without a final dot and without the interface of
// a link-local address, which only the resolver needs.
inline std::string certificate_name(std::string host) {
  if (host.size() > 1 && host.back() == '.') host.pop_back();
  if (host.find(':') != std::string::npos) host.resize(std::min(host.find('%'), host.size()));
  return host;
}

}  // namespace dlock
