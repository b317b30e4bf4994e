// SPDX-License-Identifier: MIT
// The address of a ZooKeeper, from a URL:
//   zookeeper://[user:password@]host[:port][,host2[:port2]…][/chroot][?options]
//   zookeepers://…                             the same, with TLS
// A host may be an IPv6 address in [ ]. All our nodes are in the folder `chroot`. The options,
// separated by '&', are:
//   layout=curator|kazoo   whose locks exclude ours; default: curator
//   acl=private            other users may not even read our nodes (except the epoch's, zk_row.hpp)
// User, password, chroot and option values are percent-decoded. No error text quotes any part of
// the URL except the name of an option, because in a malformed URL the password may be anywhere.
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

// The rights that other users get to the nodes that we make.
enum class ZkAcl {
  open,      // all users have all rights; without a user nothing else is possible
  readable,  // only our user has all rights; others may read, as Curator's and kazoo's waiters must
  secret,    // only our user has any rights
};

struct ZkAddress {
  std::vector<Endpoint> servers;  // at least one, in the order in which to try them
  std::string user;               // the user of a login with a password; contains no ':'
  Secret password;
  std::string chroot;  // "" or "/a/b"
  ZkLayout layout = ZkLayout::curator;
  bool is_private = false;
  // The URL in its canonical form, without user and password, for messages and comparisons.
  std::string text;

  ZkAcl acl() const {
    if (user.empty()) return ZkAcl::open;
    return is_private ? ZkAcl::secret : ZkAcl::readable;
  }
};

// Parses the URL. Errc::bad_usage: the URL is wrong; the text says why. `tls`: the TLS settings
// that are not in the URL.
Result<ZkAddress> parse_zk_url(std::string_view url, const TlsSettings& tls = {});

}  // namespace dlock
