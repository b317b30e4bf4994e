// SPDX-License-Identifier: MIT
// Reads the address of a MariaDB or MySQL server, and the name of our table, from a URL:
//   mysql://[user[:password]@]host[:port]/database[?options]   host may be an IPv6 address in [ ]
//   mysql://[user[:password]@]/database?socket=/path           a unix socket
// mariadb:// is the same. Without a user: our login name. Options, separated by '&':
//   socket=PATH    the unix socket of a URL without a host
//   table=NAME     letters, digits and '_'; "dlock" without it
//   with=FORM      row:TABLE.COLUMN or get_lock (with_option.hpp)
//   ssl-mode=MODE  disabled; required: TLS with any certificate; verify_ca: TLS with a certificate
//                  of a trusted CA; verify_identity: the certificate also names the host
// The default of ssl-mode is verify_identity, but disabled on this machine (localhost, 127.0.0.1,
// ::1) unless a TLS setting is given. A unix socket has no TLS. User, password, database and values
// are percent-decoded. Error texts quote nothing of the URL but names of options, because a URL
// with a mistake may have the password anywhere.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "store/url/with_option.hpp"
#include "sys/tls_settings.hpp"
#include "sys/transport.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dlock {

struct MyAddress {
  Endpoint endpoint;
  std::string user;
  Secret password;
  std::string database;
  std::string table;
  std::optional<WithOption> with;
  bool trusts_key = false;  // ssl-mode=disabled was given: any RSA key of the server is trusted
  std::string text;         // canonical, for messages and comparing; without user and password
};

// Parses the URL. Errc::bad_usage: the URL is wrong; the text says why. `tls`: the TLS settings
// outside the URL.
Result<MyAddress> parse_my_url(std::string_view url, const TlsSettings& tls = {});

}  // namespace dlock
