// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_url.hpp"

#include "base/text.hpp"
#include "store/url/store_url.hpp"

#include <memory>
#include <utility>

namespace dlock {
namespace {

constexpr UrlScheme k_plain{"etcd://"};
constexpr UrlScheme k_tls{"etcds://", true};
constexpr UrlScheme k_schemes[] = {k_plain, k_tls};
constexpr std::uint16_t k_default_port = 2379;

}  // namespace

Result<EtcdAddress> parse_etcd_url(std::string_view url) {
  auto parts = split_store_url(url, {.schemes = k_schemes});
  if (!parts) return parts.error();
  if (parts->has_user && parts->user.empty()) return bad_url("etcd has no password without a user");
  if (!is_utf8(parts->user) || !is_utf8(parts->password.reveal()))
    return bad_url("a user or password is UTF-8");
  if (!parts->path.empty() && parts->path != "/") return bad_url("nothing follows the hosts");
  auto hosts = parse_hosts(parts->hosts, k_default_port);
  if (!hosts) return hosts.error();
  EtcdAddress address{.servers = {},
                      .user = std::move(parts->user),
                      .password = std::move(parts->password),
                      .text = std::string(parts->scheme.text) + text_of(*hosts)};
  const auto tls = parts->scheme.has_tls ? std::make_shared<const TlsSettings>() : nullptr;
  for (HostPort& at : *hosts)
    address.servers.push_back({.host = std::move(at.host), .port = at.port, .tls = tls});
  return address;
}

std::string url_of(const Endpoint& server) {
  const UrlScheme& scheme = server.tls != nullptr ? k_tls : k_plain;
  return std::string(scheme.text) + text_of(HostPort{server.host, server.port});
}

}  // namespace dlock
