// SPDX-License-Identifier: MIT
#include "store/redis/redis_url.hpp"

#include "base/text.hpp"

#include <limits>
#include <memory>
#include <utility>

namespace dlock {
namespace {

constexpr UrlScheme k_tcp{"redis://"};
constexpr UrlScheme k_tls{"rediss://", true};
constexpr UrlScheme k_unix{"redis+unix://"};
constexpr UrlScheme k_schemes[] = {k_tcp, k_tls, k_unix};
constexpr UrlScheme k_sockets[] = {k_unix};
constexpr std::string_view k_options[] = {"db"};
constexpr std::uint16_t k_port = 6379;

Result<RedisAddress> parse_unix(std::string_view url) {
  auto parts =
      split_store_url(url, {.schemes = k_sockets, .options = k_options, .is_socket = true});
  if (!parts) return parts.error();
  const std::string path = percent_decode(parts->path);
  if (path == "/") return bad_url("the path of the socket is missing");
  if (auto fits = check_socket_path(path); !fits) return fits.error();
  auto address = redis_login(*parts, parts->option("db").value_or("0"));
  if (!address) return address.error();
  address->endpoint.socket_path = path;
  address->text = std::string(k_unix.text) + percent_encode(path, "-._~/") +
                  "?db=" + std::to_string(address->db);
  return address;
}

}  // namespace

Result<RedisAddress> redis_login(const StoreUrl& parts, std::string_view db) {
  const auto number = parse_digits(db, std::numeric_limits<int>::max());
  if (!number) return bad_url("the database must be a number from 0 to 2147483647");
  RedisAddress address{.user = parts.user, .password = parts.password, .db = *number};
  if (parts.scheme.has_tls) address.endpoint.tls = std::make_shared<const TlsSettings>();
  return address;
}

RedisAddress server_at(const RedisAddress& like, std::string_view host, std::uint16_t port) {
  RedisAddress address = like;
  address.endpoint.host = host;
  address.endpoint.port = port;
  const UrlScheme& scheme = like.endpoint.tls ? k_tls : k_tcp;
  address.text = std::string(scheme.text) + printable(text_of({address.endpoint.host, port})) +
                 "/" + std::to_string(like.db);
  return address;
}

std::vector<RedisAddress> servers_at(const RedisAddress& like, const std::vector<HostPort>& hosts) {
  std::vector<RedisAddress> all;
  all.reserve(hosts.size());
  for (const HostPort& at : hosts)
    all.push_back(server_at(like, at.host, at.port));
  return all;
}

Result<RedisAddress> parse_redis_url(std::string_view url) {
  if (url.starts_with(k_unix.text)) return parse_unix(url);
  const auto parts = split_store_url(url, {.schemes = k_schemes});
  if (!parts) return parts.error();
  const auto at = parse_host_port(parts->hosts, k_port);
  if (!at) return at.error();
  const std::string_view db = parts->path.size() > 1 ? parts->path.substr(1) : "0";
  auto like = redis_login(*parts, db);
  if (!like) return like.error();
  return server_at(*like, at->host, at->port);
}

}  // namespace dlock
