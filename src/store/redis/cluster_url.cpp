// SPDX-License-Identifier: MIT
#include "store/redis/cluster_url.hpp"

namespace dlock {

namespace {

constexpr UrlScheme k_plain_cluster{"redis+cluster://"};
constexpr UrlScheme k_tls_cluster{"rediss+cluster://", true};
constexpr UrlScheme k_cluster_schemes[] = {k_plain_cluster, k_tls_cluster};
constexpr std::uint16_t k_cluster_port = 6379;

}  // namespace

bool is_cluster_url(std::string_view url) {
  return url.starts_with(k_plain_cluster.text) || url.starts_with(k_tls_cluster.text);
}

Result<ClusterSet> parse_cluster_url(std::string_view url) {
  const auto parts = split_store_url(url, {.schemes = k_cluster_schemes});
  if (!parts) return parts.error();
  const auto hosts = parse_hosts(parts->hosts, k_cluster_port, "nodes of the cluster");
  if (!hosts) return hosts.error();
  const auto like =
      redis_login(*parts, parts->path.size() > 1 ? parts->path.substr(1) : std::string_view("0"));
  if (!like) return like.error();
  if (like->db != 0) {
    return Error{Errc::bad_config, "a cluster has only database 0; leave the number out"};
  }
  return ClusterSet{.seeds = servers_at(*like, *hosts),
                    .text = std::string(parts->scheme.text) + text_of(*hosts)};
}

}  // namespace dlock
