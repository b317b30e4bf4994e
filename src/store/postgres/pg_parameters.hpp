// SPDX-License-Identifier: MIT
// The parameters of one connection, as libpq takes them. Pure, but for a look for files of CAs.
//
// TLS. Without a setting, TLS is used if the server has TLS, as in libpq ("prefer"): that keeps
// secrets from eavesdroppers, and each URL that works in psql works here. With any of --cacert,
// --cert, --key and --sni (or such a parameter in the URL) chain and name are verified
// ("verify-full"); with --insecure neither, but TLS is used ("require"). sslmode= overrides this,
// and is refused if it contradicts. A unix socket has no TLS.
//
// Nothing is read from ~/.pgpass and ~/.postgresql. Of libpq's environment PGPASSWORD counts if no
// other password is set, and PGOPTIONS, PGTZ and PGDATESTYLE reach the server: a statement must not
// rely on these.
#pragma once

#include "base/result.hpp"
#include "store/postgres/pg_url.hpp"
#include "sys/tls_settings.hpp"

#include <string>
#include <vector>

namespace dlock {

struct PgParameter {
  const char* name;
  std::string value;  // not empty: libpq would look elsewhere
};

// The TLS mode for this server. Errc::bad_config: sslmode contradicts the settings.
Result<PgTls> tls_of(const PgAddress& address, const PgServer& server, const TlsSettings& settings);

// `numeric` is the server's resolved address; empty for a socket. Errc::bad_config as above, or
// there is no file of CAs.
Result<std::vector<PgParameter>> pg_parameters(const PgAddress& address,
                                               const PgServer& server,
                                               const std::string& numeric,
                                               const TlsSettings& settings);

}  // namespace dlock
