// SPDX-License-Identifier: MIT
#include "store/redis/redis_place.hpp"

#include <memory>
#include <utility>

namespace dlock {
namespace {

Result<RedisPlace> server_of(const StoreOptions& options) {
  auto address = parse_redis_url(options.url);
  if (!address) return address.error();
  if (address->password.empty()) address->password = options.password;
  Endpoint& endpoint = address->endpoint;
  if (endpoint.tls != nullptr) endpoint.tls = std::make_shared<const TlsSettings>(options.tls);
  address->asks_uptime = options.votes;
  return RedisPlace(std::move(*address));
}

Result<RedisPlace> set_of(const StoreOptions& options) {
  auto set = parse_sentinel_url(options.url);
  if (!set) return set.error();
  if (set->server.password.empty()) set->server.password = options.password;
  for (RedisAddress& sentinel : set->sentinels)
    sentinel.password = options.sentinel_password;
  if (set->server.endpoint.tls != nullptr) {
    set->server.endpoint.tls = std::make_shared<const TlsSettings>(options.tls);
    for (RedisAddress& sentinel : set->sentinels)
      sentinel.endpoint.tls = set->server.endpoint.tls;
  }
  return RedisPlace(std::move(*set));
}

Result<RedisPlace> cluster_of(const StoreOptions& options) {
  auto set = parse_cluster_url(options.url);
  if (!set) return set.error();
  const bool tls = set->seeds.front().endpoint.tls != nullptr;
  const auto settings = std::make_shared<const TlsSettings>(options.tls);
  for (RedisAddress& seed : set->seeds) {
    if (seed.password.empty()) seed.password = options.password;
    if (tls) seed.endpoint.tls = settings;
    seed.counts_replicas = !options.replicas;
  }
  return RedisPlace(std::move(*set));
}

}  // namespace

Result<RedisPlace> redis_place_of(const StoreOptions& options) {
  if (is_sentinel_url(options.url)) return set_of(options);
  if (is_cluster_url(options.url)) return cluster_of(options);
  return server_of(options);
}

}  // namespace dlock
