// SPDX-License-Identifier: MIT
// Reads the address of a PostgreSQL server from a URL in the form of libpq:
//   postgresql://[user[:password]@]host[:port][,host2[:port2]…]/database[?options]
//   postgresql:///database?host=/run/postgresql     a unix socket, by its directory
// postgres:// is the same. Options: host, port, table (of the locks), with (with_option.hpp:
// row:TABLE.COLUMN, advisory or advisory:NUMBER), and
// sslmode=disable|prefer|require|verify-ca|verify-full (pg_parameters.hpp). Other options are
// refused. User, password, database and options are percent-decoded. Error texts quote nothing of
// the URL but names of options, because a URL with a mistake may have the password anywhere.
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
  // A name, a numeric address, or the directory of a socket, which begins with '/'.
  std::string host;
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
  std::string text;  // canonical, for messages and comparing; without user and password
};

// Parses the URL. Errc::bad_usage: the URL is wrong; the text says why.
Result<PgAddress> parse_pg_url(std::string_view url);

}  // namespace dlock
