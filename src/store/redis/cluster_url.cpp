// SPDX-License-Identifier: MIT
#include "store/redis/cluster_url.hpp"

#include "store/redis/host_list.hpp"

#include <utility>

namespace dlock {

namespace {

constexpr std::string_view k_plain_cluster = "redis+cluster://";
constexpr std::string_view k_tls_cluster = "rediss+cluster://";
constexpr std::uint16_t k_cluster_port = 6379;

}  // namespace

bool is_cluster_url(std::string_view url) {
  return url.starts_with(k_plain_cluster) || url.starts_with(k_tls_cluster);
}

Result<ClusterSet> parse_cluster_url(std::string_view url) {
  const bool tls = url.starts_with(k_tls_cluster);
  std::string_view rest = url.substr((tls ? k_tls_cluster : k_plain_cluster).size());
  // The last @, as in redis_url.cpp.
  const auto at = rest.rfind('@');
  const std::string_view user = at == std::string_view::npos ? "" : rest.substr(0, at + 1);
  rest.remove_prefix(user.size());
  const auto slash = rest.find('/');
  const std::string_view db = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
  auto seeds = parse_hosts(rest.substr(0, slash), tls, k_cluster_port, "nodes of the cluster");
  if (!seeds) return seeds.error();
  // The user and the database.
  const auto like = parse_redis_url(std::string(tls ? "rediss://" : "redis://") +
                                    std::string(user) + "any/" + std::string(db));
  if (!like) return like.error();
  if (like->db != 0) {
    return Error{Errc::bad_config, "a cluster has only database 0; leave the number out"};
  }
  for (RedisAddress& seed : *seeds) {
    seed.user = like->user;
    seed.password = like->password;
  }
  std::string text = std::string(tls ? k_tls_cluster : k_plain_cluster) + text_of(*seeds);
  return ClusterSet{.seeds = std::move(*seeds), .text = std::move(text)};
}

}  // namespace dlock
