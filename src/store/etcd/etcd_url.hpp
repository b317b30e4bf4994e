// SPDX-License-Identifier: MIT
// The address of an etcd, from a URL:
//   etcd://[user[:password]@]host[:port][,host2[:port2]…]     the members of one cluster
//   etcds://…                                                 the same, with TLS
// A host may be an IPv6 address in [ ]; the default port is 2379. User and password are
// percent-decoded. No error text quotes any part of the URL, because in a malformed URL the
// password may be anywhere.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "sys/transport.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct EtcdAddress {
  // At least one, in the order in which to try them. With etcds:// all servers share one
  // TlsSettings, which parse_etcd_url() leaves empty.
  std::vector<Endpoint> servers;
  std::string user;  // empty: no login
  Secret password;
  // The URL in its canonical form, without user and password, for messages and comparisons.
  std::string text;
};

// Parses the URL. Errc::bad_usage: the URL is wrong; the text says why.
Result<EtcdAddress> parse_etcd_url(std::string_view url);

// Returns "etcd://host:port", for messages.
std::string url_of(const Endpoint& server);

}  // namespace dlock
