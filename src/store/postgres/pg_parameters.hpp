// SPDX-License-Identifier: MIT
// The parameters of one connection for libpq. Pure, except that it looks for files of CAs.
//
// TLS. Without settings, a server on this machine is asked for TLS but need not have it ("prefer");
// any other server must have a certificate of a trusted CA for its name ("verify-full"). With
// --cacert, --cert, --key or --sni (or such a parameter in the URL) that holds for servers on this
// machine, too. With --insecure TLS is used, but not verified ("require"). sslmode= in the URL
// overrides all this; if it contradicts the settings, it is refused. A unix socket has no TLS.
//
// Nothing is read from ~/.pgpass and ~/.postgresql. Of libpq's environment variables, PGPASSWORD
// counts if no other password is set, and PGOPTIONS, PGTZ and PGDATESTYLE reach the server: no
// statement may depend on them.
#pragma once

#include "base/result.hpp"
#include "store/postgres/pg_url.hpp"
#include "sys/tls_settings.hpp"

#include <string>
#include <vector>

namespace dlock {

struct PgParameter {
  const char* name;
  std::string value;  // never empty: libpq would look elsewhere
};

// Returns the TLS mode for this server. Errc::bad_config: sslmode contradicts the settings.
Result<PgTls> tls_of(const PgAddress& address, const PgServer& server, const TlsSettings& settings);

// Returns the parameters. `numeric`: the resolved address; empty for a socket. Errc::bad_config: as
// tls_of(), or there is no file of CAs.
Result<std::vector<PgParameter>> pg_parameters(const PgAddress& address,
                                               const PgServer& server,
                                               const std::string& numeric,
                                               const TlsSettings& settings);

}  // namespace dlock
