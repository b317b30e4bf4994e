// SPDX-License-Identifier: MIT
#include "store/redis/host_list.hpp"

#include "base/text.hpp"
#include "store/url/host_port.hpp"

#include <utility>

namespace dlock {

namespace {

constexpr std::size_t k_most_hosts = 16;  // each sentinel is asked by a thread of its own

bool says_port(std::string_view host) {
  const auto from = host.starts_with('[') ? host.find(']') : 0;
  return from != std::string_view::npos && host.find(':', from) != std::string_view::npos;
}

std::string host_and_port(const Endpoint& to) {
  return text_of(HostPort{to.host, to.port});
}

}  // namespace

Result<std::vector<RedisAddress>> parse_hosts(std::string_view hosts,
                                              bool tls,
                                              std::uint16_t default_port,
                                              std::string_view many) {
  const auto all = split(hosts, ',');
  if (all.empty()) return Error{Errc::bad_usage, "the " + std::string(many) + " are missing"};
  if (all.size() > k_most_hosts) {
    return Error{Errc::bad_usage,
                 "a URL has at most " + std::to_string(k_most_hosts) + " " + std::string(many)};
  }
  std::vector<RedisAddress> parsed;
  for (const std::string_view host : all) {
    std::string url = std::string(tls ? "rediss://" : "redis://") + std::string(host);
    if (!says_port(host)) url += ":" + std::to_string(default_port);
    auto address = parse_redis_url(url);
    if (!address) return address.error();
    parsed.push_back(std::move(*address));
  }
  return parsed;
}

std::string text_of(const std::vector<RedisAddress>& hosts) {
  std::string text;
  for (const RedisAddress& one : hosts)
    text += (text.empty() ? "" : ",") + host_and_port(one.endpoint);
  return text;
}

RedisAddress server_at(const RedisAddress& like, std::string_view host, std::uint16_t port) {
  RedisAddress address = like;
  address.endpoint.host = host;
  address.endpoint.port = port;
  address.text = std::string(like.endpoint.tls ? "rediss://" : "redis://") +
                 printable(host_and_port(address.endpoint)) + "/" + std::to_string(like.db);
  return address;
}

}  // namespace dlock
