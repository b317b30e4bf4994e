// SPDX-License-Identifier: MIT
// A user's TLS settings. The files are read at each connection, so that certificates may be
// replaced while a lock is held.
#pragma once

#include "base/secret.hpp"

#include <algorithm>
#include <string>

namespace dlock {

struct TlsSettings {
  std::string cacert;        // a file of trusted CAs, PEM; this and `cacertdir` empty: the system's
  std::string cacertdir;     // a directory of trusted CAs with hashed names (openssl rehash)
  std::string default_file;  // SSL_CERT_FILE and SSL_CERT_DIR: in place of the system's CAs
  std::string default_dir;
  std::string cert;  // a file with our certificate and its chain, PEM
  std::string key;   // a file with its key, PEM
  Secret key_password;
  std::string sni;        // the server's name in place of the host, for SNI and for the check
  bool insecure = false;  // neither chain nor name is verified
  bool any_name = false;  // the chain is verified, the name is not

  bool said() const {
    return insecure || !(cacert.empty() && cacertdir.empty() && cert.empty() && key.empty() &&
                         key_password.empty() && sni.empty());
  }
};

// The host's name in a certificate: the dot at its end and the interface of a link-local address
// are for the resolver only.
inline std::string certificate_name(std::string host) {
  if (host.size() > 1 && host.back() == '.') host.pop_back();
  if (host.find(':') != std::string::npos) host.resize(std::min(host.find('%'), host.size()));
  return host;
}

}  // namespace dlock
