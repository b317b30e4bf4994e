// SPDX-License-Identifier: MIT
#include "store/redis/sentinel_url.hpp"

#include "base/text.hpp"
#include "store/redis/host_list.hpp"

#include <algorithm>
#include <utility>

namespace dlock {

namespace {

constexpr std::string_view k_plain_set = "redis+sentinel://";
constexpr std::string_view k_tls_set = "rediss+sentinel://";
constexpr std::uint16_t k_sentinel_port = 26379;
constexpr std::string_view k_user_query = "?sentinel_user=";

Error bad_set(std::string what) {
  return {Errc::bad_usage, std::move(what)};
}

}  // namespace

bool is_sentinel_url(std::string_view url) {
  return url.starts_with(k_plain_set) || url.starts_with(k_tls_set);
}

Result<SentinelSet> parse_sentinel_url(std::string_view url) {
  const bool tls = url.starts_with(k_tls_set);
  std::string_view rest = url.substr((tls ? k_tls_set : k_plain_set).size());
  // The last @, as in redis_url.cpp.
  const auto at = rest.rfind('@');
  const std::string_view user = at == std::string_view::npos ? "" : rest.substr(0, at + 1);
  rest.remove_prefix(user.size());
  const auto question = std::min(rest.find_first_of("?#"), rest.size());
  const std::string_view query = rest.substr(question);
  rest = rest.substr(0, question);
  if (!query.empty() && !query.starts_with(k_user_query)) {
    return bad_set("only ?sentinel_user=USER and settings of TLS may follow the database");
  }
  const auto slash = rest.find('/');
  const std::string_view path = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
  const auto second = path.find('/');
  SentinelSet set;
  set.name = percent_decode(path.substr(0, second));
  if (set.name.empty()) {
    return bad_set(
        "the name of the master is missing: it stands behind the sentinels, as in "
        "redis+sentinel://h1,h2,h3/mymaster");
  }
  const std::string_view db = second == std::string_view::npos ? "" : path.substr(second + 1);
  auto server = parse_redis_url(std::string(tls ? "rediss://" : "redis://") + std::string(user) +
                                "any/" + std::string(db));
  if (!server) return server.error();
  set.server = std::move(*server);
  set.server.endpoint.host.clear();
  auto sentinels = parse_hosts(rest.substr(0, slash), tls, k_sentinel_port, "sentinels");
  if (!sentinels) return sentinels.error();
  set.sentinels = std::move(*sentinels);
  for (RedisAddress& sentinel : set.sentinels) {
    if (!query.empty()) sentinel.user = percent_decode(query.substr(k_user_query.size()));
  }
  set.server.text = std::string(tls ? k_tls_set : k_plain_set) + text_of(set.sentinels) + "/" +
                    percent_encode(set.name, "-._~") + "/" + std::to_string(set.server.db);
  return set;
}

}  // namespace dlock
