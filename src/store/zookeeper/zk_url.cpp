// SPDX-License-Identifier: MIT
#include "store/zookeeper/zk_url.hpp"

#include "base/text.hpp"
#include "store/url/host_port.hpp"
#include "store/zookeeper/zk_path.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace dlock {
namespace {

constexpr std::string_view k_plain = "zookeeper://";
constexpr std::string_view k_tls = "zookeepers://";
constexpr std::uint16_t k_plain_port = 2181;
constexpr std::uint16_t k_tls_port = 2281;  // as the manual of ZooKeeper has it
constexpr std::size_t k_most_servers = 16;

Error bad(std::string what) {
  return {Errc::bad_usage, std::move(what)};
}

bool is_plain(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f;
  });
}

Result<void> parse_user(std::string_view text, ZkAddress& address) {
  if (text.find_first_of("/?#") != std::string_view::npos)
    return bad("'/', '?' and '#' in a user or password are written %2F, %3F and %23");
  const auto colon = text.find(':');
  address.user = percent_decode(text.substr(0, colon));
  if (address.user.empty()) return bad("the user before the password is missing");
  if (address.user.find(':') != std::string::npos) return bad("a user has no ':'");
  if (colon != std::string_view::npos)
    address.password = Secret(percent_decode(text.substr(colon + 1)));
  return {};
}

Result<void> parse_servers(std::string_view hosts,
                           const std::shared_ptr<const TlsSettings>& tls,
                           ZkAddress& address) {
  for (const std::string_view one : split(hosts, ',')) {
    auto at = parse_host_port(one, tls ? k_tls_port : k_plain_port);
    if (!at) return at.error();
    address.servers.push_back({.host = std::move(at->host), .port = at->port, .tls = tls});
  }
  if (address.servers.empty()) return bad("the host is missing");
  if (address.servers.size() > k_most_servers)
    return bad("a URL has at most " + std::to_string(k_most_servers) + " hosts");
  return {};
}

Result<void> parse_chroot(std::string_view path, ZkAddress& address) {
  const std::string decoded = percent_decode(path);
  if (decoded.empty() || decoded == "/") return {};
  if (!is_zk_path(decoded))
    return bad("the path behind the hosts is none that ZooKeeper takes, such as /app/locks");
  address.chroot = decoded;
  return {};
}

Result<void> set_option(std::string_view option, ZkAddress& address) {
  const auto equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : option.substr(equals + 1);
  const bool is_word = std::all_of(
      name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  // What looks like no name may be a part of a password.
  if (equals == std::string_view::npos || !is_word)
    return bad("an option is written NAME=VALUE, with '&' before the next");
  if (name == "layout") {
    if (value != "curator" && value != "kazoo") return bad("layout= is curator or kazoo");
    address.layout = value == "kazoo" ? ZkLayout::kazoo : ZkLayout::curator;
    return {};
  }
  if (name == "acl") {
    if (value != "private") return bad("acl= is private");
    address.is_private = true;
    return {};
  }
  if (name == "password")
    return bad("a password stands before the hosts, or in DLOCK_PASSWORD, not in an option");
  return bad("there is no option " + std::string(shortened(name, 40)) +
             "; there are layout and acl");
}

std::string canonical(const ZkAddress& address) {
  std::string text(address.servers.front().tls ? k_tls : k_plain);
  for (const Endpoint& one : address.servers)
    text += (&one == &address.servers.front() ? "" : ",") + text_of(HostPort{one.host, one.port});
  text += percent_encode(address.chroot.empty() ? "/" : address.chroot, "-._~/");
  if (address.layout == ZkLayout::kazoo) text += "?layout=kazoo";
  return text;
}

Result<ZkAddress> parse(std::string_view rest, const std::shared_ptr<const TlsSettings>& tls) {
  ZkAddress address;
  if (rest.find('#') != std::string_view::npos) return bad("a '#' is written %23");
  const auto question = std::min(rest.find('?'), rest.size());
  std::string_view head = rest.substr(0, question);
  const std::string_view options = rest.substr(std::min(question + 1, rest.size()));
  // Rather the end of a password with a raw '?'.
  if (options.find('@') != std::string_view::npos) return bad("a '?' in a password is written %3F");
  // The last @, so that a password with a raw @ works, as people write it.
  if (const auto at = head.rfind('@'); at != std::string_view::npos) {
    if (auto user = parse_user(head.substr(0, at), address); !user) return user.error();
    head.remove_prefix(at + 1);
  }
  const auto slash = std::min(head.find('/'), head.size());
  if (auto done = parse_servers(head.substr(0, slash), tls, address); !done) return done.error();
  if (auto done = parse_chroot(head.substr(slash), address); !done) return done.error();
  for (const std::string_view option : split(options, '&'))
    if (auto set = set_option(option, address); !set) return set.error();
  if (address.is_private && address.user.empty()) return bad("acl=private needs user:password@");
  address.text = canonical(address);
  return address;
}

}  // namespace

Result<ZkAddress> parse_zk_url(std::string_view url, const TlsSettings& tls) {
  if (!is_plain(url)) return bad("spaces and control characters are written %20 and the like");
  if (url.starts_with(k_plain)) return parse(url.substr(k_plain.size()), nullptr);
  if (url.starts_with(k_tls))
    return parse(url.substr(k_tls.size()), std::make_shared<const TlsSettings>(tls));
  return bad("it begins with neither zookeeper:// nor zookeepers://");
}

}  // namespace dlock
