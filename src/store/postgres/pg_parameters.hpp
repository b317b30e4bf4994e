// SPDX-License-Identifier: MIT
// The parameters of one connection, as libpq takes them. Pure, but for a look for files of CAs.
//
// TLS. Without a word about it a server's TLS is used if it has TLS, as in libpq ("prefer"): that
// keeps secrets from those who only listen, and each URL that works in psql works here. With any of
// --cacert, --cert, --key and --sni (or such a parameter in the URL) chain and name are verified
// ("verify-full"); with --insecure neither, but TLS is used ("require"). What sslmode= says goes
// before that, and is refused where it contradicts. A unix socket has no TLS.
//
// Nothing is read from ~/.pgpass and ~/.postgresql. Of the environment of libpq PGPASSWORD counts
// if no password is said, and PGOPTIONS, PGTZ and PGDATESTYLE reach the server: a statement must
// not rely on these.
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

// What is asked of TLS, at this server. Errc::bad_config: sslmode contradicts the settings.
Result<PgTls> tls_of(const PgAddress& address, const PgServer& server, const TlsSettings& settings);

// `numeric` is the server's resolved address; empty for a socket. Errc::bad_config as above, or
// there is no file of CAs.
Result<std::vector<PgParameter>> pg_parameters(const PgAddress& address,
                                               const PgServer& server,
                                               const std::string& numeric,
                                               const TlsSettings& settings);

}  // namespace dlock
