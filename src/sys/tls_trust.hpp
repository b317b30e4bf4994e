// SPDX-License-Identifier: MIT
// Finds the trusted CAs. A static program cannot rely on the paths compiled into its library: each
// distribution has its own. A directory with hashed names is preferred to a bundle, because only
// the needed CA is read from a directory, but all CAs from a bundle (20 ms and 1 MiB for 144 CAs).
#pragma once

#include "base/result.hpp"
#include "sys/tls_settings.hpp"

#include <string>

namespace dlock {

struct TrustedCas {
  std::string file;  // empty: no file
  std::string dir;   // empty: no directory; ":" separates several
};

// Returns the first of these that is set or exists: --cacert and --cacertdir; SSL_CERT_FILE and
// SSL_CERT_DIR; the system's directory with hashed names; its bundle. Errc::bad_config: there are
// no CAs at all; or SSL_CERT_FILE or SSL_CERT_DIR is set but neither exists; or --cacertdir has no
// hashed names (such a directory would silently trust no CA).
Result<TrustedCas> find_trusted_cas(const TlsSettings& settings);

// For a library that takes only a file: returns the first of --cacert, SSL_CERT_FILE and the
// system's bundle. Errc::bad_config: only directories are set, or the chosen file does not exist.
Result<std::string> find_ca_file(const TlsSettings& settings);

}  // namespace dlock
