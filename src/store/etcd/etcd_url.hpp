// SPDX-License-Identifier: MIT
// Where an etcd is, from a URL:
//   etcd://[user[:password]@]host[:port][,host2[:port2]…]     the members of one cluster
//   etcds://…                                                 the same, with TLS
// A host may be an IPv6 address in [ ]; the default port is 2379. User and password are
// percent-decoded. No error text quotes any part of the URL, because a badly written URL may have
// its password anywhere.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "sys/transport.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

struct EtcdAddress {
  // At least one, in the order in which they should be tried. The servers of etcds:// share one TLS
  // setting, which is still empty.
  std::vector<Endpoint> servers;
  std::string user;  // empty: no login
  Secret password;
  std::string text;  // canonical, for messages and comparing; neither user nor password
};

// Errc::bad_usage, with what is wrong.
Result<EtcdAddress> parse_etcd_url(std::string_view url);

// "etcd://host:port", for messages.
std::string url_of(const Endpoint& server);

}  // namespace dlock
