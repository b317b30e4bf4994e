// SPDX-License-Identifier: MIT
// StoreUrl: the parts of a store's URL:
//   SCHEME[user[:password]@]hosts[/path][?name=value[&name=value]…]
// It refuses what no store accepts: blanks and control characters, '#', raw '/' and '?' in a user
// or password, NUL bytes, unknown options and options that are given twice. Each store interprets
// its hosts, path and options. Errors are Errc::bad_usage and quote no part of the URL but the name
// of an option, because a badly written URL may have its password anywhere. Pure.
#pragma once

#include "base/result.hpp"
#include "base/secret.hpp"
#include "store/url/host_port.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock {

struct UrlScheme {
  std::string_view text;  // with "://"
  bool has_tls = false;   // TLS settings may be in its URLs, and were taken out before
};

// The form of a store's URLs.
struct UrlForm {
  std::span<const UrlScheme> schemes;
  std::span<const std::string_view> options = {};
  // A path follows the user, without a host: the user ends before the first '/', not at the last
  // '@'.
  bool is_socket = false;
};

struct StoreUrl {
  UrlScheme scheme;
  bool has_user = false;  // there is an '@' after a user, which may be empty
  std::string user;
  Secret password;
  std::string_view hosts;  // as written, not decoded
  std::string_view path;   // from its '/' on, not decoded; empty: there is no '/'
  std::vector<std::pair<std::string, std::string>> options;  // decoded

  std::optional<std::string> option(std::string_view name) const;
};

// The views of the result are parts of `url`.
Result<StoreUrl> split_store_url(std::string_view url, const UrlForm& form);

// The largest number of hosts in a URL: each may be asked by a thread of its own.
inline constexpr std::size_t k_most_hosts = 16;

// "host[:port][,host[:port]]…", 1 to k_most_hosts of them. `noun` is the word for them in errors.
Result<std::vector<HostPort>> parse_hosts(std::string_view hosts,
                                          std::uint16_t default_port,
                                          std::string_view noun = "hosts");
// Writes the list with all ports.
std::string text_of(const std::vector<HostPort>& hosts);

// Refuses a path, decoded, that does not begin with '/', or that does not fit sockaddr_un.
Result<void> check_socket_path(std::string_view path);

}  // namespace dlock
