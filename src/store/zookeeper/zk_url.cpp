// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_url.hpp"

#include "base/text.hpp"
#include "store/url/store_url.hpp"
#include "store/zookeeper/zk_path.hpp"

#include <memory>
#include <utility>

namespace dlock {
namespace {

constexpr UrlScheme k_plain{"zookeeper://"};
constexpr UrlScheme k_tls{"zookeepers://", true};
constexpr UrlScheme k_schemes[] = {k_plain, k_tls};
constexpr std::string_view k_options[] = {"layout", "acl"};
constexpr std::uint16_t k_plain_port = 2181;
constexpr std::uint16_t k_tls_port = 2281;  // the port for TLS in ZooKeeper's manual

Result<void> parse_chroot(std::string_view path, ZkAddress& address) {
  const std::string decoded = percent_decode(path);
  if (decoded.empty() || decoded == "/") return {};
  if (!is_zk_path(decoded))
    return bad_url("the path behind the hosts is none that ZooKeeper takes, such as /app/locks");
  address.chroot = decoded;
  return {};
}

Result<void> set_options(const StoreUrl& parts, ZkAddress& address) {
  if (const auto layout = parts.option("layout")) {
    if (*layout != "curator" && *layout != "kazoo") return bad_url("layout= is curator or kazoo");
    address.layout = *layout == "kazoo" ? ZkLayout::kazoo : ZkLayout::curator;
  }
  if (const auto acl = parts.option("acl")) {
    if (*acl != "private") return bad_url("acl= is private");
    if (address.user.empty()) return bad_url("acl=private needs user:password@");
    address.is_private = true;
  }
  return {};
}

}  // namespace

Result<ZkAddress> parse_zk_url(std::string_view url, const TlsSettings& tls) {
  auto parts = split_store_url(url, {.schemes = k_schemes, .options = k_options});
  if (!parts) return parts.error();
  if (parts->has_user && parts->user.empty())
    return bad_url("the user before the password is missing");
  if (parts->user.find(':') != std::string::npos) return bad_url("a user has no ':'");
  ZkAddress address;
  address.user = std::move(parts->user);
  address.password = std::move(parts->password);
  const bool has_tls = parts->scheme.has_tls;
  auto hosts = parse_hosts(parts->hosts, has_tls ? k_tls_port : k_plain_port);
  if (!hosts) return hosts.error();
  if (auto done = parse_chroot(parts->path, address); !done) return done.error();
  if (auto done = set_options(*parts, address); !done) return done.error();
  address.text = std::string(parts->scheme.text) + text_of(*hosts) +
                 percent_encode(address.chroot.empty() ? "/" : address.chroot, "-._~/") +
                 (address.layout == ZkLayout::kazoo ? "?layout=kazoo" : "");
  const auto settings = has_tls ? std::make_shared<const TlsSettings>(tls) : nullptr;
  for (HostPort& at : *hosts)
    address.servers.push_back({.host = std::move(at.host), .port = at.port, .tls = settings});
  return address;
}

}  // namespace dlock
