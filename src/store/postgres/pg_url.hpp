// SPDX-License-Identifier: MIT
// Where a PostgreSQL is, from a URL as libpq writes it:
//   postgresql://[user[:password]@]host[:port][,host2[:port2]…]/database[?options]
//   postgresql:///database?host=/run/postgresql     a unix socket, by its directory
// postgres:// is the same. Options: host, port, table (where the locks are), with (with_option.hpp:
// row:TABLE.COLUMN, advisory or advisory:NUMBER), and
// sslmode=disable|prefer|require|verify-ca|verify-full (pg_parameters.hpp). All others are refused.
// User, password, database and options are percent-decoded. No error text quotes any part of the
// URL but the name of an option, because a badly written one may have its password anywhere.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "store/url/with_option.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct PgServer {
  std::string host;  // a name, a numeric address, or with a '/' first the directory of a socket
  std::uint16_t port = 0;

  bool is_socket() const { return host.starts_with('/'); }
};

// The TLS modes, weakest first.
enum class PgTls { disable, prefer, require, verify_ca, verify_full };

struct PgAddress {
  std::vector<PgServer> servers;  // at least one, in the order in which they should be tried
  std::string user;               // empty: our login name, as in libpq
  Secret password;
  std::string database;  // empty: the user's name, as in libpq
  std::string table;     // an identifier in lower case, perhaps with its schema: "app.dlock"
  std::optional<WithOption> with;
  std::optional<PgTls> tls;
  std::string text;  // canonical, for messages and comparing; neither user nor password
};

// Errc::bad_usage, with what is wrong.
Result<PgAddress> parse_pg_url(std::string_view url);

}  // namespace dlock
