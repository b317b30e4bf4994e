// SPDX-License-Identifier: MIT
// StoreUrl: the parts of a store's URL:
//   SCHEME[user[:password]@]hosts[/path][?name=value[&name=value]…]
// It refuses what no store accepts: blanks and control characters, '#', a raw '/' or '?' in a user
// or password, NUL bytes, and options that are unknown or given twice. Each store interprets its
// own hosts, path and options. Errors are Errc::bad_usage and quote no part of the URL except the
// name of an option, because in a malformed URL the password may be anywhere. Pure.
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
  bool has_tls = false;   // its URLs may have TLS settings, which have already been taken out
};

// The form of a store's URLs.
struct UrlForm {
  std::span<const UrlScheme> schemes;
  std::span<const std::string_view> options = {};
  // The path follows the user without a host between them. Then the user ends at the last '@'
  // before the first '/', not at the last '@' of the URL.
  bool is_socket = false;
};

struct StoreUrl {
  UrlScheme scheme;
  bool has_user = false;  // there is an '@', although the user before it may be empty
  std::string user;
  Secret password;
  std::string_view hosts;  // as written, not decoded
  std::string_view path;   // begins with '/'; not decoded; empty: there is no path
  std::vector<std::pair<std::string, std::string>> options;  // decoded

  std::optional<std::string> option(std::string_view name) const;
};

// Splits the URL into its parts. Views in the result point into `url`.
Result<StoreUrl> split_store_url(std::string_view url, const UrlForm& form);

// The largest number of hosts in a URL; each may be asked by a thread of its own.
inline constexpr std::size_t k_most_hosts = 16;

// Parses "host[:port][,host[:port]]…", 1 to k_most_hosts hosts. `noun`: the word for them in
// errors.
Result<std::vector<HostPort>> parse_hosts(std::string_view hosts,
                                          std::uint16_t default_port,
                                          std::string_view noun = "hosts");
// Returns the list, with all ports.
std::string text_of(const std::vector<HostPort>& hosts);

// Refuses a decoded path that does not begin with '/' or does not fit into sockaddr_un.
Result<void> check_socket_path(std::string_view path);

}  // namespace dlock
