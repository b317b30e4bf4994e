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
  std::string file;  // empty: none
  std::string dir;   // the same; several are separated by ":"
};

// The first that there is: --cacert and --cacertdir; SSL_CERT_FILE and SSL_CERT_DIR; the system's
// directory with hashed names; its bundle. Errc::bad_config: there is none; or neither
// SSL_CERT_FILE nor SSL_CERT_DIR is there though one of them is said; or --cacertdir has no hashed
// names (such a directory would silently trust no CA).
Result<TrustedCas> find_trusted_cas(const TlsSettings& settings);

// The same for a library that takes only a file: the first of --cacert, SSL_CERT_FILE and the
// system's bundle. Errc::bad_config: only directories are said, or what is said is not there.
Result<std::string> find_ca_file(const TlsSettings& settings);

}  // namespace dlock
