// SPDX-License-Identifier: MIT
// Reads from a URL the address of a MariaDB or MySQL server and the name of the table of locks:
//   mysql://[user[:password]@]host[:port]/database[?options]   host may be an IPv6 address in [ ]
//   mysql://[user[:password]@]/database?socket=/path           a unix socket
// mariadb:// is the same. A URL without a user means our login name. Options, separated by '&':
//   socket=PATH    the unix socket of a URL without a host
//   table=NAME     letters, digits and '_'; "dlock" without it
//   with=FORM      row:TABLE.COLUMN or get_lock (with_option.hpp)
//   ssl-mode=MODE  disabled; required: TLS with any certificate; verify_ca: TLS with a certificate
//                  of a trusted CA; verify_identity: the certificate also names the host
// The default of ssl-mode is verify_identity. For a server on this machine (localhost, 127.0.0.1,
// ::1) it is disabled, unless a TLS setting is given. A unix socket has no TLS. User, password,
// database and values of options are percent-decoded. Error texts quote no part of the URL except
// names of options, because in a URL with a mistake the password may be anywhere.
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
  // The URL has ssl-mode=disabled, so any RSA key that the server shows is trusted.
  bool trusts_key = false;
  // The canonical URL without user and password, for messages and comparisons.
  std::string text;
};

// Parses the URL. `tls` are the TLS settings that are not in the URL. Errc::bad_usage: the URL is
// wrong; the text says why.
Result<MyAddress> parse_my_url(std::string_view url, const TlsSettings& tls = {});

}  // namespace dlock
