// SPDX-License-Identifier: MIT
// Where a MariaDB or MySQL server is, and which table is ours, from a URL:
//   mysql://[user[:password]@]host[:port]/database[?options]   host may be an IPv6 address in [ ]
//   mysql://[user[:password]@]/database?socket=/path           a unix socket
// mariadb:// is the same. Without a user: our login name. Options, separated by '&':
//   socket=PATH    the unix socket of a URL without a host
//   table=NAME     letters, digits and '_'; "dlock" without it
//   with=FORM      row:TABLE.COLUMN or get_lock (with_option.hpp)
//   ssl-mode=MODE  disabled; required: TLS with any certificate; verify_ca: with one of a trusted
//                  CA; verify_identity: which also names the host
// Without ssl-mode it is verify_identity, but disabled on this machine (localhost, 127.0.0.1, ::1)
// unless a TLS setting is given. A unix socket has no TLS.
// User, password, database and values are percent-decoded. No error text quotes any part of the URL
// but the name of an option, because a badly written URL may have its password anywhere.
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
  bool trusts_key = false;  // ssl-mode=disabled was given: any key will do
  std::string text;         // canonical, for messages and comparing; neither user nor password
};

// Errc::bad_usage, with what is wrong. `tls`: the TLS settings outside the URL.
Result<MyAddress> parse_my_url(std::string_view url, const TlsSettings& tls = {});

}  // namespace dlock
