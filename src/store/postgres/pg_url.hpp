// SPDX-License-Identifier: MIT
// Reads the address of a PostgreSQL server from a URL of the form that libpq accepts:
//   postgresql://[user[:password]@]host[:port][,host2[:port2]…]/database[?options]
//   postgresql:///database?host=/run/postgresql     a unix socket, by its directory
// postgres:// is the same. The options are host, port, table (the table of locks), with
// (with_option.hpp: row:TABLE.COLUMN, advisory or advisory:NUMBER), and
// sslmode=disable|prefer|require|verify-ca|verify-full (pg_parameters.hpp). Other options are
// refused. User, password, database and options are percent-decoded. Error texts quote no part of
// the URL except names of options, because in a URL with a mistake the password may be anywhere.
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
  // A name, a numeric address, or the directory of a unix socket, which begins with '/'.
  std::string host;
  std::uint16_t port = 0;

  bool is_socket() const { return host.starts_with('/'); }
};

// The TLS modes, from the weakest to the strongest.
enum class PgTls { disable, prefer, require, verify_ca, verify_full };

struct PgAddress {
  std::vector<PgServer> servers;  // at least one, in the order in which to try them
  std::string user;               // empty: our login name, as libpq does it
  Secret password;
  std::string database;  // empty: the same as the user, as libpq does it
  std::string table;     // an identifier in lower case, or schema and identifier: "app.dlock"
  std::optional<WithOption> with;
  std::optional<PgTls> tls;
  std::string text;  // the canonical URL without user and password, for messages and comparisons
};

// Parses the URL. Errc::bad_usage: the URL is wrong; the text says why.
Result<PgAddress> parse_pg_url(std::string_view url);

}  // namespace dlock
