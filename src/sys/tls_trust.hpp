// SPDX-License-Identifier: MIT
// Where the trusted CAs are. A static program cannot rely on the paths that its library was built
// with: each distribution has its own. A directory with hashed names comes before a bundle, because
// of a directory only the needed CA is read, of a bundle all (20 ms and 1 MiB for 144 CAs).
#pragma once

#include "base/result.hpp"
#include "sys/tls_settings.hpp"

#include <string>

namespace dlock {

struct TrustedCas {
  std::string file;  // empty: no file
  std::string dir;   // empty: no directory; several are separated by ":"
};

// The first of these that exists: --cacert and --cacertdir; SSL_CERT_FILE and SSL_CERT_DIR; the
// system's directory with hashed names; its bundle. Errc::bad_config: no CAs at all; or
// SSL_CERT_FILE or SSL_CERT_DIR is set, but neither exists; or --cacertdir has no hashed names
// (such a directory would silently trust no CA).
Result<TrustedCas> find_trusted_cas(const TlsSettings& settings);

// For a library that takes only a file: the first of --cacert, SSL_CERT_FILE and the system's
// bundle. Errc::bad_config: only directories are set, or the file that is set does not exist.
Result<std::string> find_ca_file(const TlsSettings& settings);

}  // namespace dlock
