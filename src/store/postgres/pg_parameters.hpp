// SPDX-License-Identifier: MIT
// Makes libpq's parameters for one connection. Pure, except that it looks for files of CAs.
//
// TLS depends on the settings. Without settings, a server on this machine is asked for TLS but need
// not have it ("prefer"); any other server must have a certificate of a trusted CA for its name
// ("verify-full"). If --cacert, --cert, --key or --sni is given, or such a parameter in the URL, a
// server on this machine must have such a certificate, too. With --insecure TLS is used, but the
// certificate is not verified ("require"). sslmode= in the URL takes the place of all this; it is
// refused if it contradicts the settings. A unix socket has no TLS.
//
// Nothing is read from ~/.pgpass and ~/.postgresql. Of libpq's environment variables, PGPASSWORD
// counts if there is no other password. PGOPTIONS, PGTZ and PGDATESTYLE reach the server, so no
// statement of dlock may depend on what they set.
#pragma once

#include "base/result.hpp"
#include "store/postgres/pg_url.hpp"
#include "sys/tls_settings.hpp"

#include <string>
#include <vector>

namespace dlock {

struct PgParameter {
  const char* name;
  std::string value;  // never empty, because libpq would then look for a value elsewhere
};

// Returns the TLS mode for this server. Errc::bad_config: sslmode= contradicts the settings.
Result<PgTls> tls_of(const PgAddress& address, const PgServer& server, const TlsSettings& settings);

// Returns the parameters. `numeric` is the resolved address, empty for a unix socket. Errors are
// those of tls_of(), and Errc::bad_config if a file of CAs is needed and not found.
Result<std::vector<PgParameter>> pg_parameters(const PgAddress& address,
                                               const PgServer& server,
                                               const std::string& numeric,
                                               const TlsSettings& settings);

}  // namespace dlock
