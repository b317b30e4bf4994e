// SPDX-License-Identifier: MIT
// Where a ZooKeeper is, from a URL:
//   zookeeper://[user:password@]host[:port][,host2[:port2]…][/chroot][?options]
//   zookeepers://…                             the same, with TLS
// A host may be an IPv6 address in [ ]. The chroot is the folder of all our nodes. Options,
// separated by '&':
//   layout=curator|kazoo   whose locks exclude ours; default: curator
//   acl=private            other users may not even read our nodes
// User, password, chroot and values are percent-decoded. No error text quotes any part of the URL
// but the name of an option, because a badly written URL may have its password anywhere.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "sys/tls_settings.hpp"
#include "sys/transport.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dlock {

enum class ZkLayout { curator, kazoo };

// The rights to the nodes that we make.
enum class ZkAcl {
  open,      // all rights for all users: without a user there is no other way
  readable,  // all rights for our user, others read, as Curator's and kazoo's waiters must
  secret,    // all rights for our user, none for others
};

struct ZkAddress {
  std::vector<Endpoint> servers;  // at least one, in the order in which they should be tried
  std::string user;               // for the scheme "digest"; has no ':'
  Secret password;
  std::string chroot;  // "" or "/a/b"
  ZkLayout layout = ZkLayout::curator;
  bool is_private = false;
  std::string text;  // canonical, for messages and comparing; neither user nor password

  ZkAcl acl() const {
    if (user.empty()) return ZkAcl::open;
    return is_private ? ZkAcl::secret : ZkAcl::readable;
  }
};

// Errc::bad_usage, with what is wrong. `tls`: the TLS settings outside the URL.
Result<ZkAddress> parse_zk_url(std::string_view url, const TlsSettings& tls = {});

}  // namespace dlock
