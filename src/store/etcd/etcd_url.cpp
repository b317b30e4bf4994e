// SPDX-License-Identifier: MIT
#include "store/etcd/etcd_url.hpp"

#include "base/text.hpp"
#include "store/url/host_port.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace dlock {
namespace {

constexpr std::string_view k_plain = "etcd://";
constexpr std::string_view k_tls = "etcds://";
constexpr std::uint16_t k_default_port = 2379;
constexpr std::size_t k_most_servers = 16;

Error bad(std::string what) {
  return {Errc::bad_usage, std::move(what)};
}

bool is_plain(std::string_view text) {
  const auto is_control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f;
  };
  return std::none_of(text.begin(), text.end(), is_control);
}

Result<void> parse_user(std::string_view text, EtcdAddress& address) {
  if (text.find_first_of("/?#") != std::string_view::npos)
    return bad("'/', '?' and '#' in a user or password are written %2F, %3F and %23");
  const auto colon = text.find(':');
  const bool has_password = colon != std::string_view::npos;
  address.user = percent_decode(text.substr(0, colon));
  std::string password = has_password ? percent_decode(text.substr(colon + 1)) : "";
  if (!is_utf8(address.user) || !is_utf8(password))
    return bad("a user or password is UTF-8 without NUL bytes");
  if (address.user.empty()) return bad("etcd has no password without a user");
  address.password = Secret(std::move(password));
  return {};
}

Result<void> parse_servers(std::string_view hosts, bool tls, EtcdAddress& address) {
  const auto all = split(hosts, ',');
  if (all.empty()) return bad("the host is missing");
  if (all.size() > k_most_servers)
    return bad("a URL has at most " + std::to_string(k_most_servers) + " hosts");
  const auto settings = tls ? std::make_shared<const TlsSettings>() : nullptr;
  for (const std::string_view one : all) {
    auto at = parse_host_port(one, k_default_port);
    if (!at) return at.error();
    address.servers.push_back({.host = std::move(at->host), .port = at->port, .tls = settings});
  }
  return {};
}

// Of the settings that a URL may carry there is none left here (StoreOptions::tls).
Error no_query(bool tls) {
  if (tls) return bad("only ?cacert=, cacertdir=, cert=, key= and sni= may follow the hosts");
  return bad("an etcd:// URL has no '?' and no '#' part");
}

Result<EtcdAddress> parse(std::string_view rest, bool tls) {
  EtcdAddress address;
  // The last @, so that a password with a raw @ works, as people write it.
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    if (auto user = parse_user(rest.substr(0, at), address); !user) return user.error();
    rest.remove_prefix(at + 1);
  }
  if (rest.find_first_of("?#") != std::string_view::npos) return no_query(tls);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find('/') != std::string_view::npos) return bad("nothing follows the hosts");
  if (auto servers = parse_servers(rest, tls, address); !servers) return servers.error();
  for (const Endpoint& server : address.servers) {
    const std::string one = text_of({server.host, server.port});
    address.text += address.text.empty() ? std::string(tls ? k_tls : k_plain) + one : "," + one;
  }
  return address;
}

}  // namespace

Result<EtcdAddress> parse_etcd_url(std::string_view url) {
  if (!is_plain(url)) return bad("spaces and control characters are written %20 and the like");
  if (url.starts_with(k_plain)) return parse(url.substr(k_plain.size()), false);
  if (url.starts_with(k_tls)) return parse(url.substr(k_tls.size()), true);
  return bad("it begins with neither etcd:// nor etcds://");
}

std::string url_of(const Endpoint& server) {
  const std::string_view scheme = server.tls != nullptr ? k_tls : k_plain;
  return std::string(scheme) + text_of(HostPort{server.host, server.port});
}

}  // namespace dlock
