// SPDX-License-Identifier: MIT
#include "store/redis/sentinel_url.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

namespace {

constexpr UrlScheme k_plain_set{"redis+sentinel://"};
constexpr UrlScheme k_tls_set{"rediss+sentinel://", true};
constexpr UrlScheme k_set_schemes[] = {k_plain_set, k_tls_set};
constexpr std::string_view k_set_options[] = {"sentinel_user"};
constexpr std::uint16_t k_sentinel_port = 26379;

}  // namespace

bool is_sentinel_url(std::string_view url) {
  return url.starts_with(k_plain_set.text) || url.starts_with(k_tls_set.text);
}

Result<SentinelSet> parse_sentinel_url(std::string_view url) {
  const auto parts = split_store_url(url, {.schemes = k_set_schemes, .options = k_set_options});
  if (!parts) return parts.error();
  const std::string_view path = parts->path.substr(std::min<std::size_t>(1, parts->path.size()));
  const auto slash = std::min(path.find('/'), path.size());
  SentinelSet set;
  set.name = percent_decode(path.substr(0, slash));
  if (set.name.empty())
    return bad_url(
        "the name of the master is missing: it stands behind the sentinels, as in "
        "redis+sentinel://h1,h2,h3/mymaster");
  const std::string_view db = slash + 1 < path.size() ? path.substr(slash + 1) : "0";
  auto server = redis_login(*parts, db);
  if (!server) return server.error();
  const auto hosts = parse_hosts(parts->hosts, k_sentinel_port, "sentinels");
  if (!hosts) return hosts.error();
  RedisAddress sentinel{.user = parts->option("sentinel_user").value_or("")};
  sentinel.endpoint.tls = server->endpoint.tls;
  set.sentinels = servers_at(sentinel, *hosts);
  set.server = std::move(*server);
  set.server.text = std::string(parts->scheme.text) + text_of(*hosts) + "/" +
                    percent_encode(set.name, "-._~") + "/" + std::to_string(set.server.db);
  return set;
}

}  // namespace dlock
